-- Insert jobs that differ in their id and spec only.
WITH given (id, spec) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:rows)
)
INSERT INTO jobs (id, pipeline_id, user_id, phase, priority, actor, run_after, created_at, changed_at, spec,
    resource_id)
SELECT id, :pipeline_id, :user_id, :phase, :priority, 'user', CASE WHEN :delay > 0 THEN :now + :delay END, :now, :now,
       spec, :resource_id
FROM given
