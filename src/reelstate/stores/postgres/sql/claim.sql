-- Either the first tasks of all lanes that this worker serves (one index probe a lane, in the order of the index,
-- merged), or those tasks that a hint has named. Rows that others are taking are passed over. The locked rows are
-- updated where they lie, by their place in the table.
-- What the worker runs is looked at once more: it may have waited in claim_worker for another claim of its own, whose
-- tasks that statement, begun before they were taken, could not see.
-- A lane that prefers what this worker lacks is left alone while its tasks are fresh and a better worker is idle.
WITH clock AS (
    SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now
), held AS MATERIALIZED (
    SELECT count(*) AS running, coalesce(bool_or(t.lost > 0), false) AS runs_suspect
    FROM reelstate.tasks t WHERE t.worker_id = %(worker_id)s
), mine AS MATERIALIZED (
    SELECT l.id,
           CASE WHEN l.prefers <@ %(capabilities)s::text[] OR NOT EXISTS (
               SELECT FROM reelstate.workers w JOIN reelstate.worker_names n ON n.name = w.name
               WHERE w.status = 'active' AND n.enabled AND l.pipeline = ANY (w.pipelines)
                 AND l.needs <@ w.capabilities AND l.prefers <@ w.capabilities
                 AND coalesce(w.last_heartbeat_at, w.registered_at)
                     > (SELECT now FROM clock) - make_interval(secs => %(stale)s)
                 AND w.slots > (SELECT count(*) FROM reelstate.tasks r
                                WHERE r.worker_id = w.id))
           THEN NULL ELSE (SELECT now FROM clock) - make_interval(secs => %(grace)s) END AS ready_before
    FROM reelstate.lanes l
    WHERE l.pipeline = ANY (%(pipelines)s::text[]) AND l.needs <@ %(capabilities)s::text[]
      AND (SELECT NOT runs_suspect AND (running = 0 OR NOT %(suspect)s) FROM held)
), first AS MATERIALIZED (
    SELECT t.place
    FROM mine
    CROSS JOIN LATERAL (
        SELECT ctid AS place, job_id, stage, part, priority FROM reelstate.tasks
        WHERE lane = mine.id AND status = 'ready'
          AND (mine.ready_before IS NULL OR ready_at <= mine.ready_before)
        ORDER BY priority DESC, job_id, stage, part LIMIT %(limit)s
        FOR UPDATE SKIP LOCKED
    ) t
    ORDER BY t.priority DESC, t.job_id, t.stage, t.part LIMIT %(limit)s
), named AS MATERIALIZED (
    SELECT t.place
    FROM unnest(%(job_id)s::bigint[], %(stage)s::smallint[], %(part)s::integer[]) AS given (job_id, stage, part)
    CROSS JOIN LATERAL (
        SELECT ctid AS place, lane, ready_at FROM reelstate.tasks
        WHERE job_id = given.job_id AND stage = given.stage AND part = given.part AND status = 'ready'
        FOR UPDATE SKIP LOCKED
    ) t
    JOIN mine ON mine.id = CASE WHEN %(suspect)s THEN -t.lane ELSE t.lane END
    WHERE mine.ready_before IS NULL OR t.ready_at <= mine.ready_before
)
UPDATE reelstate.tasks t
SET status = 'running', worker_id = %(worker_id)s, last_worker = %(worker_id)s, token = t.token + 1,
    attempt = t.attempt + 1, alone = %(alone)s AND (SELECT running = 0 FROM held), percent = 0,
    claimed_at = clock.now, progress_at = clock.now, started_at = coalesce(t.started_at, clock.now),
    lease_expires_at = clock.now + make_interval(secs => least(t.lease, t.stall_after, t.timeout)),
    version = t.version + 1, actor = 'worker', reason = NULL, changed_at = clock.now
FROM clock
WHERE t.ctid = ANY (ARRAY(SELECT place FROM first UNION ALL SELECT place FROM named))
RETURNING t.job_id, t.stage, t.part, t.token, t.attempt, t.max_attempts, t.lost, t.lease, t.priority, t.input,
          t.checkpoint
