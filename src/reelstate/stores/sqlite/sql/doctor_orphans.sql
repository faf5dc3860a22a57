SELECT t.job_id, t.stage, t.part, t.status, 'its stage or job does not exist' AS detail FROM tasks AS t
WHERE NOT t.sole AND NOT EXISTS (SELECT 1 FROM stages AS s WHERE s.job_id = t.job_id AND s.stage = t.stage)
   OR NOT EXISTS (SELECT 1 FROM jobs AS j WHERE j.id = t.job_id)
UNION ALL
SELECT s.job_id, s.stage, -1, 'opened', 'its job does not exist' FROM stages AS s
WHERE NOT EXISTS (SELECT 1 FROM jobs AS j WHERE j.id = s.job_id)
ORDER BY 1, 2, 3 LIMIT :limit
