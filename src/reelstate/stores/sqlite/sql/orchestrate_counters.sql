SELECT job_id, stage, open, total, done, skipped, failed
FROM opened_stages WHERE job_id IN (SELECT value FROM json_each(:job_ids)) ORDER BY job_id, stage
