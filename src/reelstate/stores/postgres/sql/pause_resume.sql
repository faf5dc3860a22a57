-- Lift the pause of a target. Its row stays as a record, unsettled until the tasks that it parked are back.
UPDATE reelstate.pauses
SET resumed_at = coalesce(%(now)s::timestamptz, clock_timestamp()), resumed_by = %(actor)s, resumed_reason = %(reason)s
WHERE scope = %(scope)s AND name = %(name)s AND stage = %(stage)s AND resumed_at IS NULL
RETURNING id, scope, name, stage, reason, actor, paused_at, resumed_at, resumed_by, resumed_reason
