-- The jobs that `flag` handles: they are flagged, or a run of theirs has reported no progress for too long.
SELECT id AS job_id FROM reelstate.jobs WHERE flagged IS NOT NULL
UNION
SELECT job_id FROM reelstate.tasks
WHERE worker_id IS NOT NULL AND status = 'running' AND stall_after IS NULL
  AND progress_at + make_interval(secs => coalesce(flag_after, %(stall)s::float8))
      <= coalesce(%(now)s::timestamptz, clock_timestamp())
ORDER BY 1 LIMIT %(limit)s
