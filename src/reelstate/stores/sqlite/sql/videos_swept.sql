UPDATE removed_versions SET swept_at = :now
WHERE job_id IN (SELECT value FROM json_each(:job_ids)) AND swept_at IS NULL
