-- The limits in force by name, and with `removed` the records of earlier ones.
SELECT {limit_columns} FROM limits
WHERE (removed_at IS NULL OR :removed) AND (:name IS NULL OR name = :name)
ORDER BY removed_at IS NOT NULL, name, id DESC LIMIT :limit
