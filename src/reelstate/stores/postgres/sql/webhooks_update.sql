-- What is null stays. Enabling forgets why it was disabled.
UPDATE reelstate.webhooks SET url = coalesce(%(url)s, url), events = coalesce(%(events)s::text[], events),
    description = coalesce(%(description)s, description), enabled = coalesce(%(enabled)s::boolean, enabled),
    disabled = CASE WHEN %(enabled)s::boolean THEN NULL ELSE disabled END,
    failing_since = CASE WHEN %(enabled)s::boolean THEN NULL ELSE failing_since END,
    actor = %(actor)s, changed_at = clock.now
FROM (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock
WHERE id = %(id)s AND kind <> 'alert' AND (%(owner)s::text IS NULL OR user_id = %(owner)s)
  AND (kind = 'webhook' OR %(url)s::text IS NULL AND %(events)s::text[] IS NULL)
RETURNING id, kind, user_id, url, events, description, enabled, disabled, failing_since, actor, created_at, changed_at
