-- Events that no transition of a job causes. One with the same `once` is written once per webhook.
WITH given (type, user_id, job_id, once, data) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'),
           json_extract(value, '$[3]'), json_extract(value, '$[4]') FROM json_each(:rows)
)
INSERT INTO deliveries (webhook_id, lane, url, type, job_id, once, data, created_at, next_at)
SELECT w.id, CASE w.kind WHEN 'callback' THEN c.lane ELSE w.id END, CASE w.kind WHEN 'callback' THEN c.url END,
       given.type, given.job_id, given.once, given.data, :now, :now
FROM given
LEFT JOIN callbacks AS c ON c.job_id = given.job_id
JOIN webhooks AS w ON w.enabled
 AND CASE w.kind WHEN 'webhook' THEN w.user_id IN ('', given.user_id)
                      AND (w.events = '[]' OR EXISTS (SELECT 1 FROM json_each(w.events) WHERE value = given.type))
                 ELSE w.id = c.webhook_id END
WHERE true
ON CONFLICT (webhook_id, once) WHERE once IS NOT NULL DO NOTHING
