-- Webhooks that were disabled because their endpoints failed.
SELECT id, url, disabled, changed_at AS at FROM reelstate.webhooks
WHERE NOT enabled AND disabled IS NOT NULL AND (%(owner)s::text IS NULL OR user_id = %(owner)s::text)
ORDER BY id LIMIT %(limit)s
