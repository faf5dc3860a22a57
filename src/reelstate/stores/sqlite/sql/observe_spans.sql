-- The first and the last task of each span of a job before an end: neighbouring parts in the same state, found as tasks
-- without an equal neighbour. A running task is a span of its own, because its progress differs.
SELECT t.stage, t.part, b.part IS NULL AS is_first, a.part IS NULL AS is_last, t.status, t.version, t.attempt,
       t.max_attempts, t.lost, round(t.percent, 1) AS percent
FROM tasks AS t
LEFT JOIN tasks AS b
       ON b.job_id = t.job_id AND b.stage = t.stage AND b.part = t.part - 1 AND b.status = t.status
      AND b.version = t.version AND b.attempt = t.attempt AND b.lost = t.lost AND b.status <> 'running'
LEFT JOIN tasks AS a
       ON a.job_id = t.job_id AND a.stage = t.stage AND a.part = t.part + 1 AND a.status = t.status
      AND a.version = t.version AND a.attempt = t.attempt AND a.lost = t.lost AND a.status <> 'running'
      AND (a.stage, a.part) < (:end_stage, :end_part)
WHERE t.job_id = :job_id AND (t.stage, t.part) < (:end_stage, :end_part) AND (b.part IS NULL OR a.part IS NULL)
ORDER BY t.job_id, t.stage, t.part
