-- Add the next versions of states, several of one key in the order given, except those that an earlier report has stored. The log takes its numbers from those of events, so that one cursor serves both.
INSERT INTO sqlite_sequence (name, seq) SELECT 'events', 0 WHERE NOT EXISTS (
    SELECT 1 FROM sqlite_sequence WHERE name = 'events');

WITH given (name, task, tag, position, event_id, status, severity, message, payload) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'),
           json_extract(value, '$[3]'), json_extract(value, '$[4]'), json_extract(value, '$[5]'),
           json_extract(value, '$[6]'), json_extract(value, '$[7]'), json_extract(value, '$[8]')
    FROM json_each(:rows)
), new AS MATERIALIZED (
    SELECT given.*, k.generation, s.version, s.status AS before
    FROM given
    JOIN state_jobs AS k ON k.job_id = given.name
    LEFT JOIN states AS s
        ON s.job_id = given.name AND s.task = given.task AND s.tag = given.tag AND s.generation = k.generation
    WHERE NOT EXISTS (SELECT 1 FROM state_log AS l
                      WHERE l.job_id = given.name AND l.generation = k.generation AND l.task = given.task
                        AND l.tag = given.tag AND l.event_id = given.event_id)
), counted AS (
    SELECT new.*, row_number() OVER (ORDER BY position) AS number,
           row_number() OVER following AS nth, count(status) OVER following AS changed
    FROM new WINDOW following AS (PARTITION BY name, task, tag ORDER BY position)
)
INSERT INTO state_log (id, job_id, generation, task, tag, status, severity, message, payload, schema_version, version,
    event_id, at)
SELECT (SELECT seq FROM sqlite_sequence WHERE name = 'events') + number, name, generation, task, tag,
       coalesce(max(status) OVER (PARTITION BY name, task, tag, changed), before, 0),
       severity, message, payload, 1, coalesce(version, 0) + nth, event_id, :now
FROM counted;

UPDATE sqlite_sequence SET seq = max(seq, (SELECT coalesce(max(id), 0) FROM state_log)) WHERE name = 'events';

INSERT INTO states (job_id, generation, task, tag, status, severity, message, payload, schema_version, version, event_id,
    at)
SELECT l.job_id, l.generation, l.task, l.tag, l.status, l.severity, l.message, l.payload, l.schema_version,
       l.version, l.event_id, l.at
FROM (SELECT DISTINCT json_extract(value, '$[0]') AS name, json_extract(value, '$[1]') AS task,
             json_extract(value, '$[2]') AS tag FROM json_each(:rows)) AS given
JOIN state_jobs AS k ON k.job_id = given.name
JOIN state_log AS l
    ON l.job_id = k.job_id AND l.generation = k.generation AND l.task = given.task AND l.tag = given.tag
WHERE l.version = (SELECT max(n.version) FROM state_log AS n
                   WHERE n.job_id = k.job_id AND n.generation = k.generation AND n.task = given.task
                     AND n.tag = given.tag)
ON CONFLICT (job_id, task, tag) DO UPDATE
SET generation = excluded.generation, status = excluded.status, severity = excluded.severity,
    message = excluded.message, payload = excluded.payload, schema_version = excluded.schema_version,
    version = excluded.version, event_id = excluded.event_id, at = excluded.at
