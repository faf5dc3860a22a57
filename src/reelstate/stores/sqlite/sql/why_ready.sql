-- The ready tasks of stages of a job, by the lane that they wait in: the first of each, and their number up to `cap`. One
-- probe of the index of claims for each lane of the pipeline, four times: as it is, isolated, and both parked by a pause.
-- The same for the tasks that have arrived where limits are in force (`arrived`), and for the queue of their limits.
-- `part` selects one task. `spent` tasks have no attempt left, so that the database refuses to lease them.
-- Differs from PostgreSQL: without LATERAL the probe of a lane is a list of rowids.
WITH side (sign, shift) AS (
    VALUES (1, 0), (-1, 0), (1, 1073741824), (-1, 1073741824)
), wanted (stage, keys) AS MATERIALIZED (
    SELECT r.stage,
           (SELECT json_group_array(id) FROM (
                SELECT k.id FROM limits AS m CROSS JOIN limit_keys AS k ON k.limit_id = m.id AND k.key = {limit_key}
                WHERE m.removed_at IS NULL AND {limit_selects} ORDER BY k.id))
    FROM (SELECT value AS stage FROM json_each(:stages)) AS r
    CROSS JOIN jobs AS owning ON owning.id = :job_id
    CROSS JOIN pipelines AS declared ON declared.id = owning.pipeline_id
), place AS MATERIALIZED (
    SELECT wanted.stage, l.id AS lane, l.needs, l.prefers, l.id AS first, NULL AS queue, 0 AS arrived
    FROM jobs AS j CROSS JOIN pipelines AS p ON p.id = j.pipeline_id CROSS JOIN lanes AS l ON l.pipeline = p.name CROSS JOIN wanted
    WHERE j.id = :job_id
    UNION ALL
    SELECT wanted.stage, l.id, l.needs, l.prefers, l.id + 268435456, NULL, 1
    FROM jobs AS j CROSS JOIN pipelines AS p ON p.id = j.pipeline_id CROSS JOIN lanes AS l ON l.pipeline = p.name CROSS JOIN wanted
    WHERE j.id = :job_id
    UNION ALL
    SELECT wanted.stage, l.id, l.needs, l.prefers, q.id, q.id, 0
    FROM jobs AS j CROSS JOIN pipelines AS p ON p.id = j.pipeline_id CROSS JOIN lanes AS l ON l.pipeline = p.name CROSS JOIN wanted
    CROSS JOIN limit_queues AS q ON q.lane = l.id AND q.keys = wanted.keys
    WHERE j.id = :job_id
), probe AS MATERIALIZED (
    SELECT place.*, side.sign, side.shift, j.id AS job_id, j.priority
    FROM jobs AS j CROSS JOIN place CROSS JOIN side
    WHERE j.id = :job_id
)
SELECT probe.stage, probe.lane, probe.sign < 0 AS isolated, probe.shift > 0 AS parked, probe.arrived, probe.queue, probe.needs,
       probe.prefers, probe.priority, min(t.part) AS part, count(*) AS tasks, min(t.ready_at) AS ready_at, max(t.lost) AS lost,
       count(*) FILTER (WHERE t.attempt >= t.max_attempts) AS spent
FROM probe CROSS JOIN tasks AS t
WHERE t.rowid IN (
    SELECT r.rowid FROM tasks AS r INDEXED BY tasks_ready
    WHERE r.lane = probe.sign * (probe.first + probe.shift) AND r.status = 'ready' AND r.priority = probe.priority
      AND r.job_id = probe.job_id AND r.stage = probe.stage AND (:part IS NULL OR r.part = :part)
    ORDER BY r.part LIMIT :cap)
GROUP BY probe.stage, probe.lane, probe.first, probe.sign, probe.shift
ORDER BY probe.stage, probe.lane, probe.first, probe.sign DESC, probe.shift
