-- The names under which the stages of jobs keep their states.
SELECT k.job_id AS name
FROM jobs AS j
JOIN pipelines AS p ON p.id = j.pipeline_id
JOIN json_each(p.graph, '$.stages') AS stage
JOIN state_jobs AS k ON k.job_id = j.id || '.' || json_extract(stage.value, '$.name')
WHERE j.id IN (SELECT value FROM json_each(:job_ids))
ORDER BY 1
