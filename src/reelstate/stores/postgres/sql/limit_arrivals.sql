-- Tasks that have arrived, the most urgent of each lane first, and the limits in force that select each: pairs of the limit
-- and its key.
SELECT r.job_id, r.stage, r.part, l.id AS lane, r.priority, coalesce(found.wanted, '[]') AS wanted
FROM reelstate.lanes l CROSS JOIN (VALUES (1), (-1)) AS side (sign)
CROSS JOIN LATERAL (
    SELECT job_id, stage, part, priority FROM reelstate.tasks
    WHERE lane = side.sign * (l.id + 268435456) AND status = 'ready'
    ORDER BY priority DESC, job_id, stage, part LIMIT %(limit)s
) AS r
JOIN reelstate.jobs owning ON owning.id = r.job_id
LEFT JOIN reelstate.pipelines declared ON declared.id = owning.pipeline_id
CROSS JOIN LATERAL (
    SELECT jsonb_agg(jsonb_build_array(selecting.id, selecting.key) ORDER BY selecting.id) AS wanted
    FROM (SELECT m.id, {limit_key} AS key
          FROM reelstate.limits m
          WHERE m.removed_at IS NULL AND {limit_selects}) AS selecting
    WHERE selecting.key IS NOT NULL
) AS found
LIMIT %(limit)s
