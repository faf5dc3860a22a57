-- The first callback of a user creates the row with the secret that signs their callbacks.
INSERT INTO webhooks (id, kind, user_id, secret, actor, created_at, changed_at)
VALUES (:id, 'callback', :user_id, :secret, 'user', :now, :now)
ON CONFLICT (user_id) WHERE kind = 'callback' DO NOTHING
