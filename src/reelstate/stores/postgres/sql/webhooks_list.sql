SELECT id, kind, user_id, url, events, description, enabled, disabled, failing_since, actor, created_at, changed_at
FROM reelstate.webhooks
WHERE kind <> 'alert' AND (%(owner)s::text IS NULL OR user_id = %(owner)s) AND (%(id)s::text IS NULL OR id = %(id)s)
ORDER BY created_at, id
