-- Jobs that an operator should look at, the newest of each kind up to a limit. Each kind walks an index of its own.
SELECT * FROM (
    SELECT 'quarantined' AS kind, id AS job_id, changed_at AS at, reason AS message FROM jobs INDEXED BY jobs_by_status
    WHERE status = 'quarantined' AND status <> 'completed' ORDER BY id DESC LIMIT :limit)
UNION ALL
SELECT * FROM (
    SELECT 'flagged', id, flagged_at, flagged FROM jobs INDEXED BY jobs_flagged
    WHERE flagged IS NOT NULL ORDER BY id DESC LIMIT :limit)
UNION ALL
SELECT * FROM (
    SELECT 'failed', id, changed_at,
           CASE WHEN json_valid(error) THEN coalesce(error ->> '$.cause.message', error ->> '$.message', reason) ELSE reason END
    FROM jobs INDEXED BY jobs_stopped
    WHERE status IN ('failed', 'quarantined') AND finished_at IS NOT NULL AND changed_at > :now - :recent
      AND status = 'failed'
    ORDER BY changed_at DESC LIMIT :limit)
