-- The oldest jobs that have ended, or run again, and were not looked at.
SELECT id, job_id FROM ended_jobs ORDER BY id LIMIT :limit
