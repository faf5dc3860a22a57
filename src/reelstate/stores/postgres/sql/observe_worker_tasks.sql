-- The tasks that workers hold, with the pipeline that names their stages.
SELECT t.worker_id, t.job_id, t.stage, t.part, j.pipeline_id
FROM reelstate.tasks t JOIN reelstate.jobs j ON j.id = t.job_id
WHERE t.worker_id IS NOT NULL
ORDER BY t.worker_id, t.job_id, t.stage, t.part
