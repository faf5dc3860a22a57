WITH given AS (
    SELECT * FROM unnest(%(job_id)s::bigint[], %(stage)s::smallint[], %(part)s::integer[]) AS given (job_id, stage, part)
), stages AS (
    DELETE FROM reelstate.stages s USING given
    WHERE s.job_id = given.job_id AND s.stage = given.stage AND given.part = -1
    RETURNING s.job_id, s.stage, -1 AS part, s.version, 'opened' AS status
), tasks AS (
    DELETE FROM reelstate.tasks t USING given
    WHERE t.job_id = given.job_id AND t.stage = given.stage AND t.part = given.part
    RETURNING t.job_id, t.stage, t.part, t.version, t.status
)
SELECT * FROM stages UNION ALL SELECT * FROM tasks
