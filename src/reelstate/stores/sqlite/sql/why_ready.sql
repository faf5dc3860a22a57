-- The ready tasks of stages of a job, by the lane that they wait in: the first of each, and their number up to `cap`. One
-- probe of the index of claims for each lane of the pipeline, four times: as it is, isolated, and both parked by a pause.
-- `part` selects one task. `spent` tasks have no attempt left, so that the database refuses to lease them.
-- Differs from PostgreSQL: without LATERAL the probe of a lane is a list of rowids.
WITH side (sign, shift) AS (
    VALUES (1, 0), (-1, 0), (1, 1073741824), (-1, 1073741824)
), probe AS MATERIALIZED (
    SELECT wanted.value AS stage, l.id AS lane, side.sign, side.shift, l.needs, l.prefers, j.id AS job_id, j.priority
    FROM jobs AS j CROSS JOIN pipelines AS p ON p.id = j.pipeline_id CROSS JOIN lanes AS l ON l.pipeline = p.name
    CROSS JOIN side CROSS JOIN json_each(:stages) AS wanted
    WHERE j.id = :job_id
)
SELECT probe.stage, probe.lane, probe.sign < 0 AS isolated, probe.shift > 0 AS parked, probe.needs, probe.prefers,
       probe.priority, min(t.part) AS part, count(*) AS tasks, min(t.ready_at) AS ready_at, max(t.lost) AS lost,
       count(*) FILTER (WHERE t.attempt >= t.max_attempts) AS spent
FROM probe CROSS JOIN tasks AS t
WHERE t.rowid IN (
    SELECT r.rowid FROM tasks AS r INDEXED BY tasks_ready
    WHERE r.lane = probe.sign * (probe.lane + probe.shift) AND r.status = 'ready' AND r.priority = probe.priority
      AND r.job_id = probe.job_id AND r.stage = probe.stage AND (:part IS NULL OR r.part = :part)
    ORDER BY r.part LIMIT :cap)
GROUP BY probe.stage, probe.lane, probe.sign, probe.shift
ORDER BY probe.stage, probe.lane, probe.sign DESC, probe.shift
