UPDATE reelstate.keys SET used_at = clock.now
FROM (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock
WHERE id = %(id)s AND (used_at IS NULL OR used_at < clock.now - interval '1 minute')
