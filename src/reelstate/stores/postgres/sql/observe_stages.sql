SELECT s.stage, s.open, s.total, s.done, s.skipped, s.failed, s.opened_at,
       count(t.part) AS running, coalesce(sum(t.percent), 0)::float8 AS running_percent
FROM reelstate.stages s
LEFT JOIN reelstate.tasks t ON t.job_id = s.job_id AND t.stage = s.stage AND t.worker_id IS NOT NULL
WHERE s.job_id = %(job_id)s
GROUP BY s.job_id, s.stage ORDER BY s.stage
