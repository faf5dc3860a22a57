-- Delete old idempotency keys.
WITH gone AS (
    DELETE FROM reelstate.idempotency
    WHERE ctid = ANY (ARRAY(SELECT i.ctid FROM reelstate.idempotency i
                            WHERE i.created_at < %(past)s::timestamptz LIMIT %(limit)s FOR UPDATE SKIP LOCKED))
    RETURNING 1
)
SELECT count(*) AS rows FROM gone
