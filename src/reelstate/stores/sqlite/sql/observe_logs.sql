SELECT id, stage, part, token, at, level, message, metadata
FROM logs
WHERE job_id = :job_id AND id > :after AND (:stage IS NULL OR stage = :stage) AND (:part IS NULL OR part = :part)
ORDER BY id LIMIT :limit
