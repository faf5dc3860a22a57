-- Delete old idempotency keys.
DELETE FROM idempotency WHERE (user_id, key) IN (
    SELECT i.user_id, i.key FROM idempotency AS i WHERE i.created_at < :past ORDER BY i.created_at LIMIT :limit);
SELECT changes() AS rows
