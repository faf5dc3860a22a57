-- The callbacks of groups that have finished a round: one for each.
WITH given (webhook_id, lane, url, once, data) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'),
           json_extract(value, '$[3]'), json_extract(value, '$[4]') FROM json_each(:rows)
)
INSERT INTO deliveries (webhook_id, lane, url, type, once, data, created_at, next_at)
SELECT w.id, given.lane, given.url, 'group.finished', given.once, given.data, :now, :now
FROM given JOIN webhooks AS w ON w.id = given.webhook_id AND w.enabled
WHERE true
ON CONFLICT (webhook_id, once) WHERE once IS NOT NULL DO NOTHING
