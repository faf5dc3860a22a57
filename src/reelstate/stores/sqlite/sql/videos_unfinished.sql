-- The jobs of a video that run, or may yet run again.
SELECT id FROM jobs
WHERE resource_id = :video_id AND status NOT IN ('completed', 'cancelled')
ORDER BY id
