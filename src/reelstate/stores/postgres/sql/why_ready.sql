-- The ready tasks of stages of a job, by the lane that they wait in: the first of each, and their number up to `cap`. One
-- probe of the index of claims for each lane of the pipeline, four times: as it is, isolated, and both parked by a pause.
-- `part` selects one task. `spent` tasks have no attempt left, so that the database refuses to lease them.
SELECT wanted.stage, l.id AS lane, side.sign < 0 AS isolated, side.shift > 0 AS parked, l.needs, l.prefers, j.priority,
       found.part, found.tasks, found.ready_at, found.lost, found.spent
FROM reelstate.jobs j
JOIN reelstate.pipelines p ON p.id = j.pipeline_id
JOIN reelstate.lanes l ON l.pipeline = p.name
CROSS JOIN (VALUES (1, 0), (-1, 0), (1, 1073741824), (-1, 1073741824)) AS side (sign, shift)
CROSS JOIN unnest(%(stages)s::smallint[]) AS wanted (stage)
CROSS JOIN LATERAL (
    SELECT min(head.part) AS part, count(*) AS tasks, min(head.ready_at) AS ready_at, max(head.lost) AS lost,
           count(*) FILTER (WHERE head.attempt >= head.max_attempts) AS spent
    FROM (
        SELECT t.part, t.ready_at, t.lost, t.attempt, t.max_attempts FROM reelstate.tasks t
        WHERE t.lane = side.sign * (l.id + side.shift) AND t.status = 'ready' AND t.priority = j.priority
          AND t.job_id = j.id AND t.stage = wanted.stage AND (%(part)s::integer IS NULL OR t.part = %(part)s::integer)
        ORDER BY t.part LIMIT %(cap)s
    ) AS head
) AS found
WHERE j.id = %(job_id)s AND found.tasks > 0
ORDER BY wanted.stage, l.id, side.sign DESC, side.shift
