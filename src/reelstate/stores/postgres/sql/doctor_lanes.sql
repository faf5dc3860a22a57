-- Tasks that wait in a lane that does not exist, or are parked though nothing pauses them: no claim finds them. A negative
-- lane is that of isolated tasks. While a pause that was lifted is not settled, its tasks are on their way.
SELECT r.job_id, r.stage, r.part, r.status,
       'lane ' || r.lane || CASE WHEN abs(r.lane) < 1073741824 THEN ' does not exist' ELSE ' is parked' END AS detail
FROM reelstate.tasks AS r
WHERE r.status = 'ready'
  AND CASE WHEN abs(r.lane) < 1073741824 THEN NOT EXISTS (SELECT 1 FROM reelstate.lanes AS l WHERE l.id = abs(r.lane))
           ELSE NOT EXISTS (SELECT 1 FROM reelstate.pauses WHERE resumed_at IS NOT NULL AND settled_at IS NULL)
                AND NOT {paused_task} END
ORDER BY r.job_id, r.stage, r.part LIMIT %(limit)s
