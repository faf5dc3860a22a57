SELECT id, pipeline_id, spec FROM jobs WHERE id IN (SELECT value FROM json_each(:job_ids))
