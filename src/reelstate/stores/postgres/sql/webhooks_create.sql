-- Inserts and returns nothing where the user has `most` webhooks already. A repeated request finds its row.
INSERT INTO reelstate.webhooks (id, kind, user_id, url, events, description, secret, actor, created_at, changed_at)
SELECT %(id)s, 'webhook', %(user_id)s, %(url)s, %(events)s::text[], %(description)s, %(secret)s, %(actor)s, clock.now,
       clock.now
FROM (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock
WHERE (SELECT count(*) FROM reelstate.webhooks WHERE kind = 'webhook' AND user_id = %(user_id)s) < %(most)s
ON CONFLICT (id) DO UPDATE SET id = excluded.id
RETURNING id, kind, user_id, url, events, description, enabled, disabled, failing_since, actor, created_at, changed_at
