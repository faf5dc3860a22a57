-- A code is redeemed once.
UPDATE reelstate.keys SET revoked_at = clock.now
FROM (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock
WHERE id = %(id)s AND digest = %(digest)s AND kind = 'code' AND revoked_at IS NULL AND expires_at > clock.now
RETURNING name, user_id, scopes, parent
