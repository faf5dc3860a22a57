-- Tasks that wait in a lane that does not exist, or are parked though nothing pauses them: no claim finds them. A negative
-- lane is that of isolated tasks; from 268435456 tasks wait for an admission by limits, from 1073741824 for the end of a
-- pause. While a pause that was lifted, or a limit that was removed, is not settled, its tasks are on their way.
SELECT r.job_id, r.stage, r.part, r.status,
       'lane ' || r.lane || CASE WHEN abs(r.lane) < 268435456 THEN ' does not exist' WHEN abs(r.lane) < 1073741824
           THEN ' waits for no limit' ELSE ' is parked' END AS detail
FROM tasks AS r
WHERE r.status = 'ready'
  AND CASE WHEN abs(r.lane) < 268435456 THEN NOT EXISTS (SELECT 1 FROM lanes AS l WHERE l.id = abs(r.lane))
           WHEN abs(r.lane) < 536870912 THEN
               NOT EXISTS (SELECT 1 FROM lanes AS l WHERE l.id = abs(r.lane) - 268435456)
               OR NOT EXISTS (SELECT 1 FROM limits WHERE removed_at IS NULL OR settled_at IS NULL)
           WHEN abs(r.lane) < 1073741824 THEN
               NOT EXISTS (SELECT 1 FROM limit_queues AS q WHERE q.id = abs(r.lane) AND q.waiting)
               OR NOT EXISTS (SELECT 1 FROM limits WHERE removed_at IS NULL OR settled_at IS NULL)
           ELSE NOT EXISTS (SELECT 1 FROM pauses WHERE resumed_at IS NOT NULL AND settled_at IS NULL)
                AND NOT {paused_task} END
ORDER BY r.job_id, r.stage, r.part LIMIT :limit
