-- Workers of one machine that may hold leases, with what each has registered about its process.
SELECT w.id, w.metadata FROM workers AS w
WHERE w.kind = 'local'
  AND CASE WHEN json_valid(w.metadata) THEN json_extract(w.metadata, '$.process.machine') END = :machine
  AND (w.status IN ('active', 'draining')
       OR EXISTS (SELECT 1 FROM tasks AS t WHERE t.status = 'running' AND t.worker_id = w.id))
ORDER BY w.id
