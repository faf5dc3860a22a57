-- Webhooks that were disabled because their endpoints failed.
SELECT id, url, disabled, changed_at AS at FROM webhooks
WHERE NOT enabled AND disabled IS NOT NULL AND (:owner IS NULL OR user_id = :owner)
ORDER BY id LIMIT :limit
