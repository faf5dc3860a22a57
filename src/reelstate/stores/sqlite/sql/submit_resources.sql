SELECT id, resource_id FROM jobs WHERE id IN (SELECT value FROM json_each(:job_ids))
