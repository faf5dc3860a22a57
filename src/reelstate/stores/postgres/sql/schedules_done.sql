-- The ticks among these that have made a job, or wait for one.
SELECT r.tick FROM reelstate.schedule_runs r
WHERE r.schedule_id = %(id)s AND r.key = ANY (%(keys)s::text[]) AND r.outcome IN ('submitted', 'queued')
ORDER BY r.tick
