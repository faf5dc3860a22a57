-- The needs of ready tasks of a job, by stage, that no active worker of the pipeline meets.
SELECT DISTINCT t.stage, l.needs
FROM reelstate.tasks t JOIN reelstate.lanes l ON l.id = abs(t.lane)
WHERE t.job_id = %(job_id)s AND t.status = 'ready' AND l.needs <> '{}'
  AND NOT EXISTS (SELECT FROM reelstate.workers w JOIN reelstate.worker_names n ON n.name = w.name
      WHERE w.status = 'active' AND n.enabled AND l.pipeline = ANY (w.pipelines) AND l.needs <@ w.capabilities)
ORDER BY t.stage, l.needs
