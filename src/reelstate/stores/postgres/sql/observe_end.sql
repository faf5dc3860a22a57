-- The task that follows the first ones of a job by stage and part; none where the job has no more.
SELECT stage, part FROM reelstate.tasks WHERE job_id = %(job_id)s ORDER BY job_id, stage, part LIMIT 1 OFFSET %(tasks)s
