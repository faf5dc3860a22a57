-- The stages that jobs have opened, and for how many seconds: read for jobs of a trace only.
SELECT job_id, stage, open, total, done, skipped, failed, :now - opened_at AS age
FROM opened_stages WHERE job_id IN (SELECT value FROM json_each(:job_ids)) ORDER BY job_id, stage
