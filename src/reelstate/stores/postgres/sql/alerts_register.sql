-- The row that lets triggers note alerts. A secret from the settings replaces the stored one.
INSERT INTO reelstate.webhooks (id, kind, secret, actor, created_at, changed_at)
SELECT 'alerts', 'alert', %(secret)s, 'keeper', clock.now, clock.now FROM (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock
ON CONFLICT (id) DO UPDATE SET changed_at = excluded.changed_at,
    secret = CASE WHEN %(given)s THEN excluded.secret ELSE webhooks.secret END
