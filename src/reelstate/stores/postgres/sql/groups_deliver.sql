-- The callbacks of groups that have finished a round: one for each.
INSERT INTO reelstate.deliveries (webhook_id, lane, url, type, once, data, created_at, next_at)
SELECT w.id, given.lane, given.url, 'group.finished', given.once, given.data::jsonb, clock.now, clock.now
FROM (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock,
     unnest(%(webhook_id)s::text[], %(lane)s::text[], %(url)s::text[], %(once)s::text[], %(data)s::text[])
         AS given (webhook_id, lane, url, once, data)
JOIN reelstate.webhooks w ON w.id = given.webhook_id AND w.enabled
ON CONFLICT (webhook_id, once) WHERE once IS NOT NULL DO NOTHING
