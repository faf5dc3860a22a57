-- Change the priority of locked jobs; a trigger changes that of their tasks.
UPDATE reelstate.jobs j
SET priority = %(priority)s, version = j.version + 1, actor = %(actor)s, changed_at = clock.now,
    reason = 'priority ' || j.priority || ' to ' || %(priority)s::smallint || coalesce(': ' || %(reason)s::text, '')
FROM unnest(%(id)s::bigint[], %(version)s::integer[]) AS given (id, version),
     (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock
WHERE j.id = given.id AND j.version = given.version AND (j.status NOT IN ('completed', 'cancelled')) IS TRUE
RETURNING j.id
