-- The pauses in force, and with `lifted` the records of earlier ones, newest first.
SELECT id, scope, name, stage, reason, actor, paused_at, resumed_at, resumed_by, resumed_reason FROM pauses WHERE resumed_at IS NULL OR :lifted ORDER BY id DESC LIMIT :limit
