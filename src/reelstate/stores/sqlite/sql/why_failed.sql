-- The first job of a group that has failed, was quarantined or cancelled.
SELECT m.job_id, m.outcome AS status, j.actor, j.reason, j.error
FROM group_jobs AS m LEFT JOIN jobs AS j ON j.id = m.job_id
WHERE m.group_id = :id AND m.outcome IN ('failed', 'quarantined', 'cancelled')
ORDER BY m.job_id LIMIT 1
