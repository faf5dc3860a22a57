-- Of two transactions with one key, the second waits here until the first has ended, and then finds its row.
INSERT INTO reelstate.idempotency (user_id, key, digest, job_id, created_at)
SELECT user_id, key, digest, job_id, coalesce(%(now)s::timestamptz, clock_timestamp())
FROM unnest(%(user_id)s::text[], %(key)s::text[], %(digest)s::text[], %(job_id)s::bigint[])
     WITH ORDINALITY AS given (user_id, key, digest, job_id, position)
ORDER BY user_id, key, position
ON CONFLICT (user_id, key) DO NOTHING
