-- What is null stays. Enabling forgets why it was disabled.
UPDATE webhooks SET url = coalesce(:url, url), events = coalesce(:events, events),
    description = coalesce(:description, description), enabled = coalesce(:enabled, enabled),
    disabled = CASE WHEN :enabled THEN NULL ELSE disabled END,
    failing_since = CASE WHEN :enabled THEN NULL ELSE failing_since END, actor = :actor, changed_at = :now
WHERE id = :id AND kind <> 'alert' AND (:owner IS NULL OR user_id = :owner)
  AND (kind = 'webhook' OR coalesce(:url, :events) IS NULL)
RETURNING id, kind, user_id, url, events, description, enabled, disabled, failing_since, actor, created_at, changed_at
