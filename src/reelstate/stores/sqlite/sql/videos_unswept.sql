-- Removed versions whose bytes may still be there.
SELECT job_id FROM removed_versions WHERE swept_at IS NULL ORDER BY job_id LIMIT :limit
