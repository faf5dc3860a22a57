-- By id, or every key of a name.
UPDATE keys SET revoked_at = :now, actor = :actor
WHERE (id = :id OR name = :name AND kind = 'key') AND revoked_at IS NULL
RETURNING id
