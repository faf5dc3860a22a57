-- Change the priority of locked jobs; a trigger changes that of their tasks.
WITH given (id, version) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:rows)
)
UPDATE jobs
SET priority = :priority, version = jobs.version + 1, actor = :actor, changed_at = :now,
    reason = 'priority ' || jobs.priority || ' to ' || :priority || coalesce(': ' || :reason, '')
FROM given
WHERE jobs.id = given.id AND jobs.version = given.version AND jobs.status NOT IN ('completed', 'cancelled')
RETURNING id
