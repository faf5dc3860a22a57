INSERT INTO alerts (type, subject, message, job_id, at)
SELECT 'stale_job_recovered', coalesce(p.name, '#' || j.pipeline_id), 'a worker was lost', j.id, :now
FROM jobs AS j LEFT JOIN pipelines AS p ON p.id = j.pipeline_id
WHERE j.id IN (SELECT value FROM json_each(:job_ids)) AND EXISTS (SELECT 1 FROM webhooks WHERE kind = 'alert')
