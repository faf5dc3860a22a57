SELECT i.user_id, i.key, i.digest, i.job_id
FROM unnest(%(user_id)s::text[], %(key)s::text[]) AS given (user_id, key)
JOIN reelstate.idempotency i USING (user_id, key)
