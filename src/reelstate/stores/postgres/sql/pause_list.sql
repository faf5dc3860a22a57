-- The pauses in force, and with `lifted` the records of earlier ones, newest first.
SELECT id, scope, name, stage, reason, actor, paused_at, resumed_at, resumed_by, resumed_reason FROM (
    SELECT * FROM reelstate.pauses WHERE resumed_at IS NULL
    UNION ALL
    SELECT * FROM reelstate.pauses WHERE resumed_at IS NOT NULL AND %(lifted)s
) AS found
ORDER BY id DESC LIMIT %(limit)s
