DELETE FROM uploads
WHERE id IN (SELECT id FROM uploads WHERE expires_at <= :now ORDER BY expires_at LIMIT :limit)
RETURNING id
