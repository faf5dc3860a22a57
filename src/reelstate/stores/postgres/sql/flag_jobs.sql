-- The jobs that are flagged, or in which a run has reported no progress for too long: those that `flag` is about.
SELECT id FROM reelstate.jobs WHERE flagged IS NOT NULL
UNION
SELECT job_id FROM reelstate.tasks
WHERE worker_id IS NOT NULL AND status = 'running' AND stall_after IS NULL
  AND progress_at + make_interval(secs => coalesce(flag_after, %(stall)s::float8))
      <= coalesce(%(now)s::timestamptz, clock_timestamp())
ORDER BY 1 LIMIT %(limit)s
