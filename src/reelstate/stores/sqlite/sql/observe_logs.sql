-- Differs from PostgreSQL: ids are in the order of commit, so every line is settled.
SELECT id, stage, part, token, at, level, message, metadata
FROM logs
WHERE job_id = :job_id AND id > :after AND (:stage IS NULL OR stage = :stage) AND (:part IS NULL OR part = :part)
  AND (:owner IS NULL OR EXISTS (SELECT 1 FROM jobs AS j WHERE j.id = :job_id AND j.user_id = :owner))
ORDER BY id LIMIT :limit
