-- Flag jobs by the run that has reported no progress for the longest time; clear the flags of jobs without such a run.
-- `stall` is the deployment's limit for runs whose stage sets none. Locked jobs are skipped.
WITH clock AS (
    SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now
), stalled AS MATERIALIZED (
    SELECT DISTINCT ON (t.job_id) t.job_id, t.stage, t.part, coalesce(t.flag_after, %(stall)s::float8) AS seconds
    FROM reelstate.tasks t, clock
    WHERE t.worker_id IS NOT NULL AND t.status = 'running' AND t.stall_after IS NULL
      AND t.progress_at + make_interval(secs => coalesce(t.flag_after, %(stall)s::float8)) <= clock.now
    ORDER BY t.job_id, t.progress_at, t.stage, t.part
), reasons AS MATERIALIZED (
    SELECT s.job_id, 'task ' || s.job_id || '/' || s.stage || '/' || s.part || ' of stage '
           || coalesce(p.graph #>> ARRAY['stages', s.stage::text, 'name'], '#' || s.stage)
           || ' has reported no progress for ' || round(s.seconds)::bigint || ' s' AS flagged
    FROM stalled s JOIN reelstate.jobs j ON j.id = s.job_id LEFT JOIN reelstate.pipelines p ON p.id = j.pipeline_id
), changed AS MATERIALIZED (
    SELECT j.id, reasons.flagged
    FROM (SELECT job_id AS id FROM stalled UNION SELECT id FROM reelstate.jobs WHERE flagged IS NOT NULL) AS noted
    JOIN reelstate.jobs j ON j.id = noted.id
    LEFT JOIN reasons ON reasons.job_id = j.id
    WHERE j.flagged IS DISTINCT FROM reasons.flagged
      AND (j.status IN ('pending', 'validating', 'planning', 'downloading_inputs', 'processing', 'uploading_outputs')) IS TRUE
      AND (%(only)s::bigint[] IS NULL OR j.id = ANY (%(only)s::bigint[])) AND j.id <> ALL (%(without)s::bigint[])
    ORDER BY j.id LIMIT %(limit)s
    FOR UPDATE OF j SKIP LOCKED
)
UPDATE reelstate.jobs j
SET flagged = changed.flagged, flagged_at = CASE WHEN changed.flagged IS NOT NULL THEN clock.now END,
    version = j.version + 1, actor = 'keeper', reason = coalesce('flagged: ' || changed.flagged, 'flag cleared'),
    changed_at = clock.now
FROM changed, clock
WHERE j.id = changed.id
RETURNING j.id, j.flagged
