-- The first ready tasks of the pipelines that a worker serves, in the order of claims. Each is claimed alone, by its
-- key, where the claim of all at once fails on one of them.
SELECT t.job_id, t.stage, t.part FROM reelstate.tasks AS t
JOIN reelstate.lanes AS l ON l.id = t.lane
WHERE t.status = 'ready' AND l.pipeline = ANY (
    coalesce(%(pipelines)s::text[], (SELECT w.pipelines FROM reelstate.workers w WHERE w.id = %(worker_id)s)))
ORDER BY t.priority DESC, t.job_id, t.stage, t.part LIMIT %(limit)s
