-- Both secrets sign until the overlap is over. A repeated request changes nothing.
UPDATE webhooks SET old_secret = CASE WHEN secret = :secret THEN old_secret ELSE secret END,
    old_until = :now + :overlap, secret = :secret, actor = :actor, changed_at = :now
WHERE id = :id AND kind <> 'alert' AND (:owner IS NULL OR user_id = :owner)
RETURNING id, kind, user_id, url, events, description, enabled, disabled, failing_since, actor, created_at, changed_at
