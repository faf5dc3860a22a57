-- The tasks of stages that were opened again and have no fan-out to be made anew.
UPDATE reelstate.tasks t
SET status = 'ready', ready_at = clock.now, run_after = NULL, version = t.version + 1, actor = 'orchestrator',
    reason = NULL, changed_at = clock.now
FROM (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock
WHERE t.job_id = ANY (%(job_ids)s::bigint[]) AND t.stage = %(stage)s AND t.status = 'new'
