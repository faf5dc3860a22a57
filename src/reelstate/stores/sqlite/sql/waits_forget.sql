-- Delete what jobs have waited for, with the jobs.
DELETE FROM dependencies WHERE job_id IN (SELECT value FROM json_each(:job_ids));
DELETE FROM waits WHERE job_id IN (SELECT value FROM json_each(:job_ids))
