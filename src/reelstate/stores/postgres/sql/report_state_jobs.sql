-- The jobs that the states of these stages belong to: insert those that are missing, renew deleted ones, and update those
-- whose stage has other parts than before. One that is up to date is not locked.
WITH wanted AS MATERIALIZED (
    SELECT s.job_id, s.stage, s.job_id || '.' || (p.graph -> 'stages' -> s.stage::integer ->> 'name') AS name,
           s.total AS tasks,
           ARRAY(SELECT jsonb_array_elements_text(p.graph -> 'stages' -> s.stage::integer -> 'tags')) AS tags
    FROM unnest(%(job_id)s::bigint[], %(stage)s::smallint[]) AS given (job_id, stage)
    JOIN reelstate.opened_stages s USING (job_id, stage)
    JOIN reelstate.jobs j ON j.id = s.job_id
    JOIN reelstate.pipelines p ON p.id = j.pipeline_id
), made AS (
    INSERT INTO reelstate.state_jobs AS k (job_id, tasks, tags, created_at)
    SELECT name, tasks, tags, coalesce(%(now)s::timestamptz, clock_timestamp()) FROM wanted
    WHERE NOT EXISTS (SELECT FROM reelstate.state_jobs t
                      WHERE t.job_id = wanted.name AND t.deleted_at IS NULL
                        AND t.tasks = wanted.tasks AND t.tags = wanted.tags)
    ORDER BY name
    ON CONFLICT (job_id) DO UPDATE
    SET tasks = excluded.tasks, tags = excluded.tags, deleted_at = NULL,
        generation = k.generation + CASE WHEN k.deleted_at IS NULL THEN 0 ELSE 1 END
)
SELECT job_id, stage, name FROM wanted
