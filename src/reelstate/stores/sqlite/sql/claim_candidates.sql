-- The first ready tasks of the pipelines that a worker serves, in the order of claims. Each is claimed alone, by its
-- key, where the claim of all at once fails on one of them.
SELECT t.job_id, t.stage, t.part FROM tasks AS t
JOIN lanes AS l ON l.id = t.lane
WHERE t.status = 'ready' AND l.pipeline IN (
    SELECT value FROM json_each(coalesce(:pipelines, (SELECT w.pipelines FROM workers AS w WHERE w.id = :worker_id))))
ORDER BY t.priority DESC, t.job_id, t.stage, t.part LIMIT :limit
