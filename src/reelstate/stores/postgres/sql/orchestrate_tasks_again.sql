-- The tasks of stages that were opened again and have no fan-out to be made anew.
UPDATE reelstate.tasks t
SET status = 'ready', ready_at = clock.now, run_after = NULL, version = t.version + 1, actor = 'orchestrator',
    reason = NULL, changed_at = clock.now
FROM unnest(%(job_id)s::bigint[], %(stage)s::smallint[]) AS given (job_id, stage),
     (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock
WHERE t.job_id = given.job_id AND t.stage = given.stage AND t.status = 'new'
