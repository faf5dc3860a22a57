-- The ids of keys; those that are new are added.
WITH given AS MATERIALIZED (
    SELECT DISTINCT limit_id, key FROM unnest(%(limit_id)s::integer[], %(key)s::text[]) AS given (limit_id, key)
), added AS (
    INSERT INTO reelstate.limit_keys (limit_id, key) SELECT limit_id, key FROM given
    ON CONFLICT (limit_id, key) DO NOTHING RETURNING id, limit_id, key
)
SELECT k.id, k.limit_id, k.key FROM given JOIN reelstate.limit_keys k USING (limit_id, key)
UNION ALL SELECT id, limit_id, key FROM added
