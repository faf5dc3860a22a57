-- The tasks that workers hold, with the pipeline that names their stages.
SELECT t.worker_id, t.job_id, t.stage, t.part, j.pipeline_id
FROM tasks AS t JOIN jobs AS j ON j.id = t.job_id
WHERE t.status = 'running'
ORDER BY t.worker_id, t.job_id, t.stage, t.part
