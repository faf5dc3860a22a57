-- The ready tasks of stages of a job, by the lane that they wait in: the first of each, and their number up to `cap`. One
-- probe of the index of claims for each lane of the pipeline, four times: as it is, isolated, and both parked by a pause.
-- The same for the tasks that have arrived where limits are in force (`arrived`), and for the queue of their limits.
-- `part` selects one task. `spent` tasks have no attempt left, so that the database refuses to lease them.
WITH place AS MATERIALIZED (
    SELECT wanted.stage, l.id AS lane, l.needs, l.prefers, entry.first, entry.queue, entry.arrived
    FROM reelstate.jobs owning
    JOIN reelstate.pipelines declared ON declared.id = owning.pipeline_id
    JOIN reelstate.lanes l ON l.pipeline = declared.name
    CROSS JOIN unnest(%(stages)s::smallint[]) AS wanted (stage)
    CROSS JOIN LATERAL (
        SELECT l.id AS first, NULL::integer AS queue, false AS arrived
        UNION ALL
        SELECT l.id + 268435456, NULL, true
        UNION ALL
        SELECT q.id, q.id, false
        FROM (SELECT array_agg(k.id ORDER BY k.id) AS keys
              FROM (SELECT wanted.stage) AS r CROSS JOIN reelstate.limits m
              JOIN reelstate.limit_keys k ON k.limit_id = m.id AND k.key = {limit_key}
              WHERE m.removed_at IS NULL AND {limit_selects}) AS found
        JOIN reelstate.limit_queues q ON q.lane = l.id AND q.keys = found.keys
    ) AS entry
    WHERE owning.id = %(job_id)s
)
SELECT place.stage, place.lane, side.sign < 0 AS isolated, side.shift > 0 AS parked, place.arrived, place.queue, place.needs,
       place.prefers, j.priority, found.part, found.tasks, found.ready_at, found.lost, found.spent
FROM reelstate.jobs j
CROSS JOIN place
CROSS JOIN (VALUES (1, 0), (-1, 0), (1, 1073741824), (-1, 1073741824)) AS side (sign, shift)
CROSS JOIN LATERAL (
    SELECT min(head.part) AS part, count(*) AS tasks, min(head.ready_at) AS ready_at, max(head.lost) AS lost,
           count(*) FILTER (WHERE head.attempt >= head.max_attempts) AS spent
    FROM (
        SELECT t.part, t.ready_at, t.lost, t.attempt, t.max_attempts FROM reelstate.tasks t
        WHERE t.lane = side.sign * (place.first + side.shift) AND t.status = 'ready' AND t.priority = j.priority
          AND t.job_id = j.id AND t.stage = place.stage AND (%(part)s::integer IS NULL OR t.part = %(part)s::integer)
        ORDER BY t.part LIMIT %(cap)s
    ) AS head
) AS found
WHERE j.id = %(job_id)s AND found.tasks > 0
ORDER BY place.stage, place.lane, place.first, side.sign DESC, side.shift
