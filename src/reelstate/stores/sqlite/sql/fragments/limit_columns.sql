id, name, pipeline, stage, user_id, per, running, starts, period, weights, reason, actor, declared, created_at, changed_at, removed_at
