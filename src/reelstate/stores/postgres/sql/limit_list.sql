-- The limits in force by name, and with `removed` the records of earlier ones.
SELECT {limit_columns} FROM reelstate.limits
WHERE (removed_at IS NULL OR %(removed)s) AND (%(name)s::text IS NULL OR name = %(name)s)
ORDER BY removed_at IS NOT NULL, name, id DESC LIMIT %(limit)s
