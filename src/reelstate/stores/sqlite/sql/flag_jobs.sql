-- The jobs that `flag` handles: they are flagged, or a run of theirs has reported no progress for too long.
SELECT id AS job_id FROM jobs WHERE flagged IS NOT NULL
UNION
SELECT job_id FROM tasks
WHERE status = 'running' AND stall_after IS NULL AND progress_at + coalesce(flag_after, :stall) <= :now
ORDER BY 1 LIMIT :limit
