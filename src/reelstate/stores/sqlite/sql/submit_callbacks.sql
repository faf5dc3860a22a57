WITH given (job_id, user_id, url, lane) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'),
           json_extract(value, '$[3]') FROM json_each(:rows)
)
INSERT INTO callbacks (job_id, webhook_id, url, lane, created_at)
SELECT given.job_id, w.id, given.url, given.lane, :now
FROM given JOIN webhooks AS w ON w.kind = 'callback' AND w.user_id = given.user_id
