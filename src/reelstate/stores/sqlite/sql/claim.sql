-- Lease the first tasks of all lanes that this worker serves (one index probe per lane, in index order, merged), or the
-- tasks that a hint has named.
-- Lanes of a paused pipeline, and tasks of a paused stage or user, are left out; `pause_park` moves such tasks out of the
-- way.
-- Tasks that wait for a limit are in other lanes; those that a new limit selects and has not counted yet are left out.
-- A lane that prefers what this worker lacks is skipped while its tasks are fresh and a better worker is idle.
-- Differs from PostgreSQL: without LATERAL the probe of a lane is a correlated list of rowids, and nothing is locked or
-- skipped, because a write transaction has the database to itself. The worker was checked before, and `claim_jobs`
-- returns the jobs, because an UPDATE with RETURNING can't be part of another statement. The chosen tasks are kept in a
-- temporary table: where a task is the sole one of a pending job, one event records the claim of both.
{choose};

INSERT INTO chosen (task, with_job)
WITH given (job_id, stage, part) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]') FROM json_each(:rows)
), worker AS MATERIALIZED (
    SELECT slots, coalesce(:pipelines, pipelines) AS pipelines, coalesce(:capabilities, capabilities) AS capabilities
    FROM workers WHERE id = :worker_id
), paused AS MATERIALIZED (
    SELECT EXISTS (SELECT 1 FROM pauses WHERE resumed_at IS NULL AND scope IN ('user', 'stage')) AS tasks,
           EXISTS (SELECT 1 FROM limits WHERE settled_at IS NULL) AS unrouted
), mine AS MATERIALIZED (
    SELECT l.id,
           CASE WHEN NOT EXISTS (SELECT 1 FROM json_each(l.prefers) AS wanted
                                 WHERE wanted.value NOT IN (SELECT value FROM json_each(worker.capabilities)))
                  OR NOT EXISTS (
               SELECT 1 FROM workers AS w JOIN worker_names AS n ON n.name = w.name
               WHERE w.status = 'active' AND n.enabled
                 AND w.name NOT IN (SELECT name FROM pauses WHERE resumed_at IS NULL AND scope = 'worker')
                 AND l.pipeline IN (SELECT value FROM json_each(w.pipelines))
                 AND NOT EXISTS (SELECT 1 FROM json_each(l.needs) AS needed
                                 WHERE needed.value NOT IN (SELECT value FROM json_each(w.capabilities)))
                 AND NOT EXISTS (SELECT 1 FROM json_each(l.prefers) AS wanted
                                 WHERE wanted.value NOT IN (SELECT value FROM json_each(w.capabilities)))
                 AND coalesce(w.last_heartbeat_at, w.registered_at) > :now - :stale
                 AND w.slots - w.stuck > (SELECT count(*) FROM tasks AS r WHERE r.status = 'running' AND r.worker_id = w.id))
           THEN NULL ELSE :now - :grace END AS ready_before
    FROM worker CROSS JOIN lanes AS l
    WHERE l.pipeline IN (SELECT value FROM json_each(worker.pipelines))
      AND NOT EXISTS (SELECT 1 FROM json_each(l.needs) AS needed
                      WHERE needed.value NOT IN (SELECT value FROM json_each(worker.capabilities)))
      AND l.pipeline NOT IN (SELECT name FROM pauses WHERE resumed_at IS NULL AND scope = 'pipeline')
), first AS (
    SELECT t.rowid AS task
    FROM mine CROSS JOIN tasks AS t
    WHERE t.rowid IN (
        SELECT r.rowid FROM tasks AS r INDEXED BY tasks_ready
        WHERE r.lane = mine.id AND r.status = 'ready'
          AND (mine.ready_before IS NULL OR r.ready_at <= mine.ready_before)
          AND (NOT (SELECT tasks FROM paused) OR NOT {paused_task})
          AND (NOT (SELECT unrouted FROM paused) OR NOT {unrouted_task})
        ORDER BY r.priority DESC, r.job_id, r.stage, r.part LIMIT :limit)
    ORDER BY t.priority DESC, t.job_id, t.stage, t.part LIMIT :limit
), named AS (
    SELECT r.rowid AS task
    FROM given CROSS JOIN tasks AS r ON r.job_id = given.job_id AND r.stage = given.stage AND r.part = given.part
    JOIN mine ON mine.id = CASE WHEN :isolated THEN -r.lane ELSE r.lane END
    WHERE r.status = 'ready' AND (mine.ready_before IS NULL OR r.ready_at <= mine.ready_before)
      AND (NOT (SELECT tasks FROM paused) OR NOT {paused_task})
          AND (NOT (SELECT unrouted FROM paused) OR NOT {unrouted_task})
)
SELECT t.rowid, coalesce(t.sole AND j.status = 'pending', 0)
FROM (SELECT task FROM first UNION ALL SELECT task FROM named) AS found
CROSS JOIN tasks AS t ON t.rowid = found.task
LEFT JOIN jobs AS j ON t.sole AND j.id = t.job_id;

INSERT INTO events (id, entity, job_id, stage, part, worker_id, version, token, at, origin, target, actor, job_version,
    job_origin, job_target)
SELECT {last_event} + 2 * row_number() OVER (ORDER BY c.task), 'task+job', t.job_id, t.stage, t.part, :worker_id,
       t.version + 1, t.token + 1, :now, 'ready', 'running', 'worker', j.version + 1, 'pending', j.phase
FROM chosen AS c CROSS JOIN tasks AS t ON t.rowid = c.task CROSS JOIN jobs AS j ON j.id = t.job_id
WHERE c.with_job ORDER BY c.task;

UPDATE jobs
SET status = phase, started_at = coalesce(started_at, :now), version = version + 1, actor = 'worker', reason = NULL,
    changed_at = :now
WHERE id IN (SELECT t.job_id FROM chosen AS c CROSS JOIN tasks AS t ON t.rowid = c.task WHERE c.with_job);

UPDATE tasks
SET status = 'running', worker_id = :worker_id, last_worker = :worker_id, token = token + 1,
    attempt = attempt + 1, alone = :isolated OR (:alone AND (SELECT slots = 1 FROM workers WHERE id = :worker_id)
        AND NOT EXISTS (SELECT 1 FROM tasks AS r WHERE r.status = 'running' AND r.worker_id = :worker_id)), percent = 0, claimed_at = :now, progress_at = :now,
    started_at = coalesce(started_at, :now),
    lease_expires_at = :now + min(lease, coalesce(stall_after, lease), coalesce(timeout, lease)),
    version = version + 1, actor = 'worker', reason = NULL, changed_at = :now
WHERE rowid IN (SELECT task FROM chosen)
RETURNING job_id, stage, part, token, attempt, max_attempts, lost, lease, priority, input, checkpoint,
          NULL AS pipeline_id, NULL AS spec, NULL AS job_status, :now AS at, 1 AS fit,
          :now - ready_at AS waited,
          (SELECT j.phase FROM chosen AS c CROSS JOIN jobs AS j ON j.id = tasks.job_id
           WHERE c.task = tasks.rowid AND c.with_job) AS begun,
          NULL AS trace, 0 AS parks, 0 AS limited
