-- Lift the pause of a target. Its row stays as a record, unsettled until the tasks that it parked are back.
UPDATE pauses SET resumed_at = :now, resumed_by = :actor, resumed_reason = :reason
WHERE scope = :scope AND name = :name AND stage = :stage AND resumed_at IS NULL
RETURNING id, scope, name, stage, reason, actor, paused_at, resumed_at, resumed_by, resumed_reason
