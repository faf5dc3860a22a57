SELECT j.id AS job_id, -1 AS stage, -1 AS part, j.status, 'its group has it as ' || coalesce(m.outcome, 'active') AS detail
FROM reelstate.group_jobs m JOIN reelstate.jobs j ON j.id = m.job_id
WHERE m.outcome IS DISTINCT FROM CASE WHEN j.status IN ('completed', 'failed', 'quarantined', 'cancelled') THEN j.status END
ORDER BY j.id LIMIT %(limit)s
