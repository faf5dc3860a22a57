-- The row that lets triggers note alerts. A secret from the settings replaces the stored one.
INSERT INTO webhooks (id, kind, secret, actor, created_at, changed_at)
VALUES ('alerts', 'alert', :secret, 'keeper', :now, :now)
ON CONFLICT (id) DO UPDATE SET changed_at = excluded.changed_at,
    secret = CASE WHEN :given THEN excluded.secret ELSE webhooks.secret END
