-- A key in force, or a row of nulls, so that an unknown id takes as long as a wrong secret. A session or code also ends
-- with the key it was created from.
SELECT k.id, k.kind, k.name, k.user_id, k.scopes, k.parent, k.actor, k.created_at, k.expires_at, k.revoked_at, k.used_at,
       k.digest, k.used_at IS NULL OR k.used_at < clock.now - interval '1 minute' AS use_is_due
FROM (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock
LEFT JOIN (reelstate.keys k LEFT JOIN reelstate.keys p ON p.id = k.parent)
  ON k.id = %(id)s AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > clock.now)
  AND p.revoked_at IS NULL AND (p.expires_at IS NULL OR p.expires_at > clock.now)
