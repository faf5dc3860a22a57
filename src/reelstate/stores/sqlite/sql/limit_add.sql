-- Add a limit; nothing where one of its name is in force.
INSERT INTO limits (name, pipeline, stage, user_id, per, running, starts, period, weights, declared, reason, actor,
    created_at, changed_at)
VALUES (:name, :pipeline, :stage, :user_id, :per, :running, :starts, :period, :weights, :declared, :reason, :actor, :now, :now)
ON CONFLICT (name) WHERE removed_at IS NULL DO NOTHING
RETURNING {limit_columns}
