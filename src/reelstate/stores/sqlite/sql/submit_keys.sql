-- Of two requests with one key the second finds the row of the first; json_each gives them in their order.
WITH given (user_id, key, digest, job_id) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'),
           json_extract(value, '$[3]')
    FROM json_each(:rows)
)
INSERT INTO idempotency (user_id, key, digest, job_id, created_at)
SELECT user_id, key, digest, job_id, :now FROM given
WHERE true
ON CONFLICT (user_id, key) DO NOTHING
