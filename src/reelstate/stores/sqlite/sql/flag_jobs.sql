-- The jobs that are flagged, or in which a run has reported no progress for too long: those that `flag` is about.
SELECT id FROM jobs WHERE flagged IS NOT NULL
UNION
SELECT job_id FROM tasks
WHERE status = 'running' AND stall_after IS NULL AND progress_at + coalesce(flag_after, :stall) <= :now
ORDER BY 1 LIMIT :limit
