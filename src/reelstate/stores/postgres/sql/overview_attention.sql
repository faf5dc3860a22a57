-- Jobs that an operator should look at, the newest of each kind up to a limit. Each kind walks an index of its own.
(SELECT 'quarantined' AS kind, id AS job_id, changed_at AS at, reason AS message FROM reelstate.jobs
 WHERE status = 'quarantined' AND status <> 'completed' ORDER BY id DESC LIMIT %(limit)s)
UNION ALL
(SELECT 'flagged', id, flagged_at, flagged FROM reelstate.jobs
 WHERE flagged IS NOT NULL ORDER BY id DESC LIMIT %(limit)s)
UNION ALL
(SELECT 'failed', id, changed_at, coalesce(error -> 'cause' ->> 'message', error ->> 'message', reason) FROM reelstate.jobs
 WHERE status IN ('failed', 'quarantined') AND finished_at IS NOT NULL
   AND changed_at > coalesce(%(now)s::timestamptz, clock_timestamp()) - make_interval(secs => %(recent)s)
   AND status = 'failed'
 ORDER BY changed_at DESC LIMIT %(limit)s)
