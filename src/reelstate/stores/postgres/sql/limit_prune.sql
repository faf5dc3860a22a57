-- Forget queues and keys without tasks, and starts whose period has passed.
WITH idle AS (
    DELETE FROM reelstate.limit_queues
    WHERE id = ANY (ARRAY(
        SELECT q.id FROM reelstate.limit_queues q
        WHERE NOT q.waiting AND NOT EXISTS (SELECT FROM reelstate.limit_ended e WHERE e.queue = q.id)
          AND NOT EXISTS (SELECT FROM reelstate.limit_keys k WHERE k.id = ANY (q.keys) AND k.admitted > 0)
        LIMIT %(limit)s))
    RETURNING keys
), left_by AS (
    UPDATE reelstate.limit_keys k SET queues = k.queues - gone.queues
    FROM (SELECT part.key, count(*)::integer AS queues FROM idle CROSS JOIN unnest(idle.keys) AS part (key) GROUP BY part.key) AS gone
    WHERE k.id = gone.key
), past AS (
    DELETE FROM reelstate.limit_starts s USING reelstate.limit_keys k, reelstate.limits m
    WHERE k.id = s.key AND m.id = k.limit_id
      AND s.at <= coalesce(%(now)s::timestamptz, clock_timestamp()) - make_interval(secs => coalesce(m.period, 0))
)
DELETE FROM reelstate.limit_keys WHERE queues = 0 AND admitted = 0
  AND NOT EXISTS (SELECT FROM reelstate.limit_starts s WHERE s.key = limit_keys.id)
RETURNING id
