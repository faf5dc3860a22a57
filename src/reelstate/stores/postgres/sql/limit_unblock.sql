-- Look at queues again whose key may have room: the first of each key, by priority and turn. A key with more of them stays
-- due until it is found to be full.
WITH due AS MATERIALIZED (
    SELECT id FROM reelstate.limit_keys WHERE retry_at <= coalesce(%(now)s::timestamptz, clock_timestamp())
    ORDER BY retry_at LIMIT %(limit)s
), first AS MATERIALIZED (
    SELECT due.id AS key, q.id
    FROM due CROSS JOIN LATERAL (
        SELECT id FROM reelstate.limit_queues WHERE blocked_by = due.id ORDER BY priority DESC, turn LIMIT %(most)s
    ) AS q
), opened AS (
    UPDATE reelstate.limit_queues SET blocked_by = NULL WHERE id = ANY (ARRAY(SELECT id FROM first)) AND blocked_by IS NOT NULL
)
UPDATE reelstate.limit_keys k SET retry_at = NULL FROM due
WHERE k.id = due.id AND (SELECT count(*) FROM first WHERE first.key = due.id) < %(most)s
RETURNING k.id
