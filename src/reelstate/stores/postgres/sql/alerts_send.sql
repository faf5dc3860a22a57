INSERT INTO reelstate.deliveries (webhook_id, lane, type, data, created_at, next_at)
SELECT 'alerts', 'alerts', given.type, given.data::jsonb, clock.now, clock.now
FROM (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock, unnest(%(type)s::text[], %(data)s::text[]) AS given (type, data)
