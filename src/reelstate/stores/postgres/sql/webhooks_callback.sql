-- The first callback of a user creates the row with the secret that signs their callbacks.
INSERT INTO reelstate.webhooks (id, kind, user_id, secret, actor, created_at, changed_at)
SELECT %(id)s, 'callback', %(user_id)s, %(secret)s, 'user', clock.now, clock.now FROM (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock
ON CONFLICT (user_id) WHERE kind = 'callback' DO NOTHING
