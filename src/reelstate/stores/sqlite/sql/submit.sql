WITH given (id, pipeline_id, user_id, phase, priority, delay, spec) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'),
           json_extract(value, '$[3]'), json_extract(value, '$[4]'), json_extract(value, '$[5]'),
           json_extract(value, '$[6]')
    FROM json_each(:rows)
)
INSERT INTO jobs (id, pipeline_id, user_id, phase, priority, actor, run_after, created_at, changed_at, spec)
SELECT id, pipeline_id, user_id, phase, priority, 'user', CASE WHEN delay > 0 THEN :now + delay END, :now, :now, spec
FROM given
