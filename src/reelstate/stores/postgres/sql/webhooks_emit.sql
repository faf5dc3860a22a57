-- Events that no transition of a job causes. One with the same `once` is written once per webhook.
INSERT INTO reelstate.deliveries (webhook_id, lane, url, type, job_id, once, data, created_at, next_at)
SELECT w.id, CASE w.kind WHEN 'callback' THEN c.lane ELSE w.id END,
       CASE w.kind WHEN 'callback' THEN c.url END, given.type, given.job_id, given.once, given.data::jsonb, clock.now, clock.now
FROM (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock,
     unnest(%(type)s::text[], %(user_id)s::text[], %(job_id)s::bigint[], %(once)s::text[], %(data)s::text[])
         AS given (type, user_id, job_id, once, data)
LEFT JOIN reelstate.callbacks c ON c.job_id = given.job_id
JOIN reelstate.webhooks w ON w.enabled
 AND CASE w.kind WHEN 'webhook' THEN w.user_id IN ('', given.user_id) AND (w.events = '{}' OR given.type = ANY (w.events))
                 ELSE w.id = c.webhook_id END
ON CONFLICT (webhook_id, once) WHERE once IS NOT NULL DO NOTHING
