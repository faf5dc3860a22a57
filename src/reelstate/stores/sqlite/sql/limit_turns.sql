-- What queues have had, and what they wait for now.
WITH given (id, turn, waiting, priority, blocked_by) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'), json_extract(value, '$[3]'),
           json_extract(value, '$[4]')
    FROM json_each(:rows)
)
UPDATE limit_queues
SET turn = given.turn, waiting = given.waiting, priority = given.priority, blocked_by = given.blocked_by
FROM given WHERE limit_queues.id = given.id
