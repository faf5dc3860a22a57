-- Delete old runs of schedules that do not wait.
WITH gone AS (
    DELETE FROM reelstate.schedule_runs
    WHERE ctid = ANY (ARRAY(SELECT r.ctid FROM reelstate.schedule_runs r
                            WHERE r.at < %(past)s::timestamptz AND r.outcome <> 'queued'
                            LIMIT %(limit)s FOR UPDATE SKIP LOCKED))
    RETURNING 1
)
SELECT count(*) AS rows FROM gone
