-- By id, or every worker key of a name.
UPDATE keys SET revoked_at = :now, actor = :actor
WHERE (id = :id OR name = :name AND kind = 'key' AND EXISTS (SELECT 1 FROM json_each(scopes) WHERE value = 'worker')) AND revoked_at IS NULL
RETURNING id
