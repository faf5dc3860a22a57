-- The video that a ticket is for. It ends with the key or session that it was made with.
SELECT t.video_id FROM tickets AS t
JOIN videos AS v ON v.id = t.video_id AND v.deleted_at IS NULL
JOIN keys AS k ON k.id = t.key_id AND k.revoked_at IS NULL
LEFT JOIN keys AS p ON p.id = k.parent
WHERE t.digest = :digest AND t.expires_at > :now
  AND (k.expires_at IS NULL OR k.expires_at > :now)
  AND p.revoked_at IS NULL AND (p.expires_at IS NULL OR p.expires_at > :now)
