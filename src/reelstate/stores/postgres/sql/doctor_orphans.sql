SELECT t.job_id, t.stage, t.part, t.status, 'its stage or job does not exist' AS detail FROM reelstate.tasks t
WHERE NOT t.sole AND NOT EXISTS (SELECT FROM reelstate.stages s WHERE s.job_id = t.job_id AND s.stage = t.stage)
   OR NOT EXISTS (SELECT FROM reelstate.jobs j WHERE j.id = t.job_id)
UNION ALL
SELECT s.job_id, s.stage, -1, 'opened', 'its job does not exist' FROM reelstate.stages s
WHERE NOT EXISTS (SELECT FROM reelstate.jobs j WHERE j.id = s.job_id)
ORDER BY 1, 2, 3 LIMIT %(limit)s
