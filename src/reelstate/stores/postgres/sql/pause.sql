-- Pause a target; nothing where it is paused already.
INSERT INTO reelstate.pauses (scope, name, stage, reason, actor, paused_at)
VALUES (%(scope)s, %(name)s, %(stage)s, %(reason)s, %(actor)s, coalesce(%(now)s::timestamptz, clock_timestamp()))
ON CONFLICT (scope, name, stage) WHERE resumed_at IS NULL DO NOTHING
RETURNING id, scope, name, stage, reason, actor, paused_at, resumed_at, resumed_by, resumed_reason
