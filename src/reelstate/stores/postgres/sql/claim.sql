-- Lease the first tasks of all lanes that this worker serves (one index probe per lane, in index order, merged), or the
-- tasks that a hint has named; return them with their jobs, in one round trip.
-- Rows that other claims have locked are skipped. The locked rows are updated by their physical position (ctid).
-- A worker whose row another claim has locked, that may not claim, or for which an isolated task waits, gets nothing here
-- and is not `fit`: `claim_worker` then checks it, waits for the lock, and this statement runs again (`checked`). The
-- tasks that the worker runs are counted here each time: what `claim_worker` waited for it could not see.
-- Lanes of a paused pipeline, and tasks of a paused stage or user, are left out; `parks` reports that there may be such
-- tasks, and `pause_park` moves them out of the way. A worker that is paused by its name, or with everything, is not fit.
-- Tasks that wait for a limit are in other lanes; those that a new limit selects and has not counted yet are left out.
-- `limited` reports that there are limits: where too little was found, an admission may have more.
-- A lane that prefers what this worker lacks is skipped while its tasks are fresh and a better worker is idle.
-- A job leaves `pending` with its first claim. A job whose row changes at this moment is left out; `claim_jobs` then
-- reads it. The spec stands in the first row of a job only.
-- The first run of a sole task begins its job: `begun` has both rows without a join of many tasks with many jobs, and
-- one event records both. All `others` are few jobs, as a rule.
WITH clock AS MATERIALIZED (
    SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now, set_config('reelstate.recorded', 'on', true) AS recorded
), held AS MATERIALIZED (
    SELECT count(*) AS running, coalesce(bool_or(t.lane < 0), false) AS runs_isolated
    FROM reelstate.tasks t WHERE t.worker_id = %(worker_id)s
), paused AS MATERIALIZED (
    SELECT coalesce(bool_or(scope IN ('user', 'stage')), false) AS tasks, coalesce(bool_or(scope = 'all'), false) AS everything,
           coalesce(array_agg(name) FILTER (WHERE scope = 'pipeline'), '{}') AS pipelines,
           coalesce(array_agg(name) FILTER (WHERE scope = 'worker'), '{}') AS workers,
           EXISTS (SELECT FROM reelstate.limits WHERE settled_at IS NULL) AS unrouted
    FROM reelstate.pauses WHERE resumed_at IS NULL
), worker AS MATERIALIZED (
    SELECT w.slots, w.status = 'active' AND n.enabled AND NOT (SELECT everything FROM paused)
               AND w.name <> ALL ((SELECT workers FROM paused)::text[]) AS claims,
           coalesce(%(pipelines)s::text[], w.pipelines) AS pipelines,
           coalesce(%(capabilities)s::text[], w.capabilities) AS capabilities
    FROM reelstate.workers w JOIN reelstate.worker_names n ON n.name = w.name
    WHERE w.id = %(worker_id)s
    FOR NO KEY UPDATE OF w SKIP LOCKED FOR SHARE OF n SKIP LOCKED
), fit AS MATERIALIZED (
    SELECT worker.slots, worker.pipelines, worker.capabilities, held.running
    FROM worker CROSS JOIN held
    WHERE worker.claims AND NOT held.runs_isolated AND (held.running = 0 OR NOT %(isolated)s)
      AND (%(checked)s OR NOT EXISTS (
          SELECT FROM reelstate.lanes l
          WHERE l.pipeline = ANY (worker.pipelines) AND l.needs <@ worker.capabilities
            AND l.pipeline <> ALL ((SELECT pipelines FROM paused)::text[])
            AND EXISTS (SELECT FROM reelstate.tasks WHERE lane = -l.id AND status = 'ready' OFFSET 0)))
), mine AS MATERIALIZED (
    SELECT l.id,
           CASE WHEN l.prefers <@ fit.capabilities OR NOT EXISTS (
               SELECT FROM reelstate.workers w JOIN reelstate.worker_names n ON n.name = w.name
               WHERE w.status = 'active' AND n.enabled AND w.name <> ALL ((SELECT workers FROM paused)::text[])
                 AND l.pipeline = ANY (w.pipelines)
                 AND l.needs <@ w.capabilities AND l.prefers <@ w.capabilities
                 AND coalesce(w.last_heartbeat_at, w.registered_at)
                     > (SELECT now FROM clock) - make_interval(secs => %(stale)s)
                 AND w.slots - w.stuck > (SELECT count(*) FROM reelstate.tasks r
                                WHERE r.worker_id = w.id))
           THEN NULL ELSE (SELECT now FROM clock) - make_interval(secs => %(grace)s) END AS ready_before
    FROM fit JOIN reelstate.lanes l ON l.pipeline = ANY (fit.pipelines) AND l.needs <@ fit.capabilities
    WHERE l.pipeline <> ALL ((SELECT pipelines FROM paused)::text[])
), first AS MATERIALIZED (
    SELECT t.task
    FROM mine
    CROSS JOIN LATERAL (
        SELECT r.ctid AS task, r.job_id, r.stage, r.part, r.priority FROM reelstate.tasks r
        WHERE r.lane = mine.id AND r.status = 'ready'
          AND (mine.ready_before IS NULL OR r.ready_at <= mine.ready_before)
          AND (NOT (SELECT tasks FROM paused) OR NOT {paused_task})
          AND (NOT (SELECT unrouted FROM paused) OR NOT {unrouted_task})
        ORDER BY r.priority DESC, r.job_id, r.stage, r.part LIMIT %(limit)s
        FOR UPDATE OF r SKIP LOCKED
    ) t
    ORDER BY t.priority DESC, t.job_id, t.stage, t.part LIMIT %(limit)s
), named AS MATERIALIZED (
    SELECT t.task
    FROM unnest(%(job_id)s::bigint[], %(stage)s::smallint[], %(part)s::integer[]) AS given (job_id, stage, part)
    CROSS JOIN LATERAL (
        SELECT r.ctid AS task, r.lane, r.ready_at FROM reelstate.tasks r
        WHERE r.job_id = given.job_id AND r.stage = given.stage AND r.part = given.part AND r.status = 'ready'
          AND (NOT (SELECT tasks FROM paused) OR NOT {paused_task})
          AND (NOT (SELECT unrouted FROM paused) OR NOT {unrouted_task})
        FOR UPDATE OF r SKIP LOCKED
    ) t
    JOIN mine ON mine.id = CASE WHEN %(isolated)s THEN -t.lane ELSE t.lane END
    WHERE mine.ready_before IS NULL OR t.ready_at <= mine.ready_before
), taken AS (
    UPDATE reelstate.tasks t
    SET status = 'running', worker_id = %(worker_id)s, last_worker = %(worker_id)s, token = t.token + 1,
        attempt = t.attempt + 1, percent = 0,
        alone = fit.running = 0 AND (%(isolated)s OR (fit.slots = 1 AND %(alone)s)),
        claimed_at = clock.now, progress_at = clock.now, started_at = coalesce(t.started_at, clock.now),
        lease_expires_at = clock.now + make_interval(secs => least(t.lease, t.stall_after, t.timeout)),
        version = t.version + 1, actor = 'worker', reason = NULL, changed_at = clock.now
    FROM clock CROSS JOIN fit
    WHERE t.ctid = ANY (ARRAY(SELECT task FROM first UNION ALL SELECT task FROM named))
    RETURNING t.job_id, t.stage, t.part, t.token, t.attempt, t.max_attempts, t.lost, t.lease, t.priority, t.input,
              t.checkpoint, t.version, t.sole AND t.token = 1 AS begins,
              extract(epoch FROM clock.now - t.ready_at)::float8 AS waited
), begun AS (
    UPDATE reelstate.jobs j
    SET status = j.phase, started_at = coalesce(j.started_at, clock.now), version = j.version + 1, actor = 'worker',
        reason = NULL, changed_at = clock.now
    FROM taken t CROSS JOIN clock
    WHERE t.begins AND j.id = t.job_id AND (j.status = 'pending') IS TRUE
    RETURNING t.*, j.pipeline_id, j.spec, j.status AS job_status, j.version AS job_version, j.trace
), others AS MATERIALIZED (
    SELECT t.*, row_number() OVER (PARTITION BY t.job_id) AS number FROM taken t
    WHERE NOT t.begins
       OR (SELECT count(*) FROM begun) < (SELECT count(*) FROM taken WHERE begins)
          AND t.job_id <> ALL (ARRAY(SELECT job_id FROM begun))
), resumed AS (
    UPDATE reelstate.jobs j
    SET status = j.phase, started_at = coalesce(j.started_at, clock.now), version = j.version + 1, actor = 'worker',
        reason = NULL, changed_at = clock.now
    FROM clock
    WHERE j.id = ANY (ARRAY(SELECT job_id FROM others WHERE NOT begins)) AND (j.status = 'pending') IS TRUE
    RETURNING j.id, j.pipeline_id, j.spec, j.status, j.version, j.trace
), active AS MATERIALIZED (
    SELECT id, pipeline_id, spec, status, trace FROM reelstate.jobs
    WHERE id = ANY (ARRAY(SELECT job_id FROM others)) AND status <> 'pending'
    FOR KEY SHARE
), recorded AS (
    INSERT INTO reelstate.events (entity, job_id, stage, part, worker_id, version, token, at, origin, target, actor,
        job_version, job_origin, job_target)
    SELECT 'task+job', job_id, stage, part, %(worker_id)s::bigint, version, token, clock.now, 'ready', 'running', 'worker',
           job_version, 'pending', job_status
    FROM begun CROSS JOIN clock
    UNION ALL
    SELECT 'task', job_id, stage, part, %(worker_id)s::bigint, version, token, clock.now, 'ready', 'running', 'worker',
           NULL, NULL, NULL
    FROM others CROSS JOIN clock
    UNION ALL
    SELECT 'job', id, -1, -1, NULL, version, NULL, clock.now, 'pending', status, 'worker', NULL, NULL, NULL
    FROM resumed CROSS JOIN clock
)
SELECT t.job_id, t.stage, t.part, t.token, t.attempt, t.max_attempts, t.lost, t.lease, t.priority, t.input,
       t.checkpoint, t.pipeline_id, t.spec, t.job_status, clock.now AS at, EXISTS (SELECT FROM fit) AS fit, t.waited,
       t.begun, t.trace, (SELECT tasks FROM paused) AS parks,
       EXISTS (SELECT FROM reelstate.limits WHERE removed_at IS NULL OR settled_at IS NULL) AS limited
FROM clock
LEFT JOIN (
    SELECT job_id, stage, part, token, attempt, max_attempts, lost, lease, priority, input, checkpoint, pipeline_id,
           spec, job_status, waited, job_status AS begun, trace
    FROM begun
    UNION ALL
    SELECT o.job_id, o.stage, o.part, o.token, o.attempt, o.max_attempts, o.lost, o.lease, o.priority, o.input,
           o.checkpoint, j.pipeline_id, CASE WHEN o.number = 1 THEN j.spec END, j.status, o.waited, j.begun, j.trace
    FROM others o
    LEFT JOIN (
        SELECT id, pipeline_id, spec, status, status AS begun, trace FROM resumed
        UNION ALL SELECT id, pipeline_id, spec, status, NULL, trace FROM active
    ) j ON j.id = o.job_id
) t ON true
