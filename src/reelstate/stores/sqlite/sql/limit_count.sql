-- Add admitted tasks to their keys, which never have more than their limit through that.
WITH given (id, tasks) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:rows)
)
UPDATE limit_keys SET admitted = admitted + given.tasks
FROM given CROSS JOIN limits AS m
WHERE limit_keys.id = given.id AND m.id = limit_keys.limit_id
  AND (:adopted OR m.removed_at IS NOT NULL OR m.running IS NULL OR limit_keys.admitted + given.tasks <= m.running)
RETURNING limit_keys.id
