WITH given (user_id, key) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:rows)
)
SELECT i.user_id, i.key, i.digest, i.job_id
FROM given CROSS JOIN idempotency AS i ON i.user_id = given.user_id AND i.key = given.key
