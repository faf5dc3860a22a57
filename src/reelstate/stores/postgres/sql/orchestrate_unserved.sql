-- Stages with tasks that have been ready for `older` seconds in lanes whose needs no active worker has: the first of each
-- lane, and of its negative number, where isolated tasks wait.
SELECT DISTINCT t.job_id, t.stage, l.id AS lane, j.pipeline_id
FROM reelstate.lanes l CROSS JOIN (VALUES (1), (-1)) AS side (sign)
CROSS JOIN LATERAL (
    SELECT job_id, stage, ready_at FROM reelstate.tasks
    WHERE lane = side.sign * l.id AND status = 'ready' ORDER BY priority DESC, job_id, stage, part LIMIT %(limit)s
) t
JOIN reelstate.jobs j ON j.id = t.job_id
WHERE l.needs <> '{}'
  AND t.ready_at <= coalesce(%(now)s::timestamptz, clock_timestamp()) - make_interval(secs => %(older)s)
  AND NOT EXISTS (
      SELECT FROM reelstate.workers w JOIN reelstate.worker_names n ON n.name = w.name
      WHERE w.status = 'active' AND n.enabled AND l.pipeline = ANY (w.pipelines) AND l.needs <@ w.capabilities)
