-- Tasks that wait in a lane that does not exist: no claim searches it. A negative lane is that of isolated tasks.
SELECT t.job_id, t.stage, t.part, t.status, 'lane ' || t.lane || ' does not exist' AS detail
FROM reelstate.tasks AS t
WHERE t.status = 'ready' AND NOT EXISTS (SELECT 1 FROM reelstate.lanes AS l WHERE l.id = abs(t.lane))
ORDER BY t.job_id, t.stage, t.part LIMIT %(limit)s
