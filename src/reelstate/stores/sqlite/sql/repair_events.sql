WITH given (entity, id, stage, part, version, origin, target) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'),
           json_extract(value, '$[3]'), json_extract(value, '$[4]'), json_extract(value, '$[5]'),
           json_extract(value, '$[6]')
    FROM json_each(:rows)
)
INSERT INTO events (entity, job_id, worker_id, stage, part, version, origin, target, actor, reason, data, at)
SELECT entity, CASE WHEN entity <> 'worker' THEN id END, CASE WHEN entity = 'worker' THEN id END, stage, part, version,
       origin, target, 'doctor', :reason, '{"repair": true}', :now
FROM given
