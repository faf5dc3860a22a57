-- The jobs of a video that run, or may yet run again.
SELECT id FROM reelstate.jobs
WHERE resource_id = %(video_id)s AND status NOT IN ('completed', 'cancelled')
ORDER BY id
