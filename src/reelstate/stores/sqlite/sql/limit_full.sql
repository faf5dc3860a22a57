-- Keys without room: the queues that they block are looked at again when a task ends, or when the next start may be.
WITH given (id, retry_in) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:rows)
)
UPDATE limit_keys SET retry_at = :now + given.retry_in FROM given WHERE limit_keys.id = given.id
