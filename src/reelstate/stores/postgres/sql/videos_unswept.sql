-- Removed versions whose bytes may still be there.
SELECT job_id FROM reelstate.removed_versions WHERE swept_at IS NULL ORDER BY job_id LIMIT %(limit)s
