-- Workers of one machine that may hold leases, with what each has registered about its process.
SELECT w.id, w.metadata FROM reelstate.workers w
WHERE w.kind = 'local' AND w.metadata #>> '{process,machine}' = %(machine)s
  AND (w.status IN ('active', 'draining') OR EXISTS (SELECT FROM reelstate.tasks t WHERE t.worker_id = w.id))
ORDER BY w.id
