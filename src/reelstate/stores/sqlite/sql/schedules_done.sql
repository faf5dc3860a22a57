-- The ticks among these that have made a job, or wait for one.
SELECT r.tick FROM schedule_runs AS r
WHERE r.schedule_id = :id AND r.key IN (SELECT value FROM json_each(:keys)) AND r.outcome IN ('submitted', 'queued')
ORDER BY r.tick
