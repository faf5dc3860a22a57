-- The event types that a process knows, and the transitions of jobs that cause them.
WITH given (name, origin, target, resources) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'),
           json_extract(value, '$[3]') FROM json_each(:rows)
)
INSERT INTO event_types (name, origin, target, resources)
SELECT name, origin, target, resources FROM given WHERE true
ON CONFLICT (name, origin, target) DO NOTHING
