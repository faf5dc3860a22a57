-- Inserts and returns nothing where the user has `most` webhooks already. A repeated request finds its row.
INSERT INTO webhooks (id, kind, user_id, url, events, description, secret, actor, created_at, changed_at)
SELECT :id, 'webhook', :user_id, :url, :events, :description, :secret, :actor, :now, :now
WHERE (SELECT count(*) FROM webhooks WHERE kind = 'webhook' AND user_id = :user_id) < :most
ON CONFLICT (id) DO UPDATE SET id = excluded.id
RETURNING id, kind, user_id, url, events, description, enabled, disabled, failing_since, actor, created_at, changed_at
