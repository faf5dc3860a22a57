SELECT id, kind, user_id, url, events, description, enabled, disabled, failing_since, actor, created_at, changed_at
FROM webhooks
WHERE kind <> 'alert' AND (:owner IS NULL OR user_id = :owner) AND (:id IS NULL OR id = :id)
ORDER BY created_at, id
