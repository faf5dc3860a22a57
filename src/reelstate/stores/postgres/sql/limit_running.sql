-- Running tasks that a limit selects which is not settled and does not count them, and the limits in force that select each: pairs of the limit
-- and its key.
SELECT r.job_id, r.stage, r.part, r.token, abs(r.lane) AS lane, r.queue, found.wanted
FROM reelstate.tasks r
JOIN reelstate.jobs owning ON owning.id = r.job_id
LEFT JOIN reelstate.pipelines declared ON declared.id = owning.pipeline_id
CROSS JOIN LATERAL (
    SELECT jsonb_agg(jsonb_build_array(selecting.id, selecting.key) ORDER BY selecting.id) AS wanted
    FROM (SELECT m.id, {limit_key} AS key
          FROM reelstate.limits m
          WHERE m.removed_at IS NULL AND {limit_selects}) AS selecting
    WHERE selecting.key IS NOT NULL
) AS found
WHERE r.worker_id IS NOT NULL AND r.status = 'running' AND (SELECT EXISTS (SELECT FROM reelstate.limits m WHERE m.settled_at IS NULL AND m.removed_at IS NULL))
  AND {unrouted_task}
ORDER BY r.job_id, r.stage, r.part LIMIT %(limit)s
