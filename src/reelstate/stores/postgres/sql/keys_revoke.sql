-- By id, or every worker key of a name.
UPDATE reelstate.keys SET revoked_at = clock.now, actor = %(actor)s
FROM (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock
WHERE (id = %(id)s OR name = %(name)s AND kind = 'key' AND 'worker' = ANY (scopes)) AND revoked_at IS NULL
RETURNING id
