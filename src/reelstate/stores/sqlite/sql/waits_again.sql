-- Whether each of these waiting jobs may start, is cancelled, or waits on.
SELECT w.job_id, {wait_verdict}
FROM waits AS w LEFT JOIN jobs AS j ON j.id = w.job_id
WHERE w.job_id IN (SELECT value FROM json_each(:job_ids)) AND w.ended_at IS NULL
ORDER BY w.job_id
