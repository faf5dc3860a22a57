-- Both secrets sign until the overlap is over. A repeated request changes nothing.
UPDATE reelstate.webhooks SET old_secret = CASE WHEN secret = %(secret)s THEN old_secret ELSE secret END,
    old_until = clock.now + make_interval(secs => %(overlap)s::float8),
    secret = %(secret)s, actor = %(actor)s, changed_at = clock.now
FROM (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock
WHERE id = %(id)s AND kind <> 'alert' AND (%(owner)s::text IS NULL OR user_id = %(owner)s)
RETURNING id, kind, user_id, url, events, description, enabled, disabled, failing_since, actor, created_at, changed_at
