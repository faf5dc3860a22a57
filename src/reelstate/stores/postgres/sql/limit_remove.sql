-- Remove a limit; its row stays as a record, unsettled until the tasks that wait for it have left its queues. One that comes
-- with a pipeline (`declared`) does not replace one that an operator has set.
UPDATE reelstate.limits
SET removed_at = clock.now, changed_at = clock.now, settled_at = NULL, actor = %(actor)s, reason = %(reason)s
FROM (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock
WHERE name = %(name)s AND removed_at IS NULL AND (declared OR NOT %(declared)s::boolean)
RETURNING {limit_columns}
