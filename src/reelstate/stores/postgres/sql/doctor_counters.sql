SELECT s.job_id, s.stage, -1 AS part, 'open' AS status,
       'counted ' || s.total || '/' || s.done || '/' || s.skipped || '/' || s.failed || ' (total, done, skipped, failed), there are '
       || count(t.part) || '/' || count(t.part) FILTER (WHERE t.status = 'done')
       || '/' || count(t.part) FILTER (WHERE t.status = 'skipped')
       || '/' || count(t.part) FILTER (WHERE t.status = 'error' AND t.run_after IS NULL) AS detail
FROM reelstate.stages s
LEFT JOIN reelstate.tasks t ON t.job_id = s.job_id AND t.stage = s.stage
GROUP BY s.job_id, s.stage, s.total, s.done, s.skipped, s.failed
HAVING (s.total, s.done, s.skipped, s.failed) IS DISTINCT FROM (
    count(t.part), count(t.part) FILTER (WHERE t.status = 'done'), count(t.part) FILTER (WHERE t.status = 'skipped'),
    count(t.part) FILTER (WHERE t.status = 'error' AND t.run_after IS NULL))
ORDER BY s.job_id, s.stage LIMIT %(limit)s
