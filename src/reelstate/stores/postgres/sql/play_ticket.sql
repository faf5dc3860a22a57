-- The video that a ticket is for. It ends with the key or session that it was made with.
SELECT t.video_id
FROM (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock, reelstate.tickets t
JOIN reelstate.videos v ON v.id = t.video_id AND v.deleted_at IS NULL
JOIN reelstate.keys k ON k.id = t.key_id AND k.revoked_at IS NULL
LEFT JOIN reelstate.keys p ON p.id = k.parent
WHERE t.digest = %(digest)s AND t.expires_at > clock.now
  AND (k.expires_at IS NULL OR k.expires_at > clock.now)
  AND p.revoked_at IS NULL AND (p.expires_at IS NULL OR p.expires_at > clock.now)
