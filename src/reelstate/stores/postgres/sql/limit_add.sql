-- Add a limit; nothing where one of its name is in force.
INSERT INTO reelstate.limits (name, pipeline, stage, user_id, per, running, starts, period, weights, declared, reason, actor,
    created_at, changed_at)
SELECT %(name)s, %(pipeline)s, %(stage)s, %(user_id)s, %(per)s, %(running)s, %(starts)s, %(period)s, %(weights)s::jsonb,
       %(declared)s, %(reason)s, %(actor)s, clock.now, clock.now
FROM (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock
ON CONFLICT (name) WHERE removed_at IS NULL DO NOTHING
RETURNING {limit_columns}
