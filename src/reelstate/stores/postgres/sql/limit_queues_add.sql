-- The queues of keys in lanes, which have tasks that wait from now on. One that had none takes its turn after those that
-- wait: its share begins at theirs, or where the last one ended.
WITH given AS MATERIALIZED (
    SELECT lane, translate(keys, '[]', '{}')::bigint[] AS keys, priority
    FROM unnest(%(lane)s::integer[], %(keys)s::text[], %(priority)s::smallint[]) AS given (lane, keys, priority)
), counted AS (
    UPDATE reelstate.limit_keys k SET queues = k.queues + new.queues
    FROM (SELECT part.key, count(*)::integer AS queues FROM given CROSS JOIN unnest(given.keys) AS part (key)
          WHERE NOT EXISTS (SELECT FROM reelstate.limit_queues q WHERE q.lane = given.lane AND q.keys = given.keys)
          GROUP BY part.key) AS new
    WHERE k.id = new.key
)
INSERT INTO reelstate.limit_queues AS q (lane, keys, priority, waiting, turn)
SELECT lane, keys, priority, true, coalesce(
    (SELECT min(w.turn) FROM reelstate.limit_queues w WHERE w.lane = given.lane AND w.waiting),
    (SELECT max(w.turn) FROM reelstate.limit_queues w WHERE w.lane = given.lane), 0)
FROM given
ON CONFLICT (lane, keys) DO UPDATE
SET waiting = true, turn = CASE WHEN q.waiting THEN q.turn ELSE greatest(q.turn, excluded.turn) END,
    priority = CASE WHEN q.waiting THEN greatest(q.priority, excluded.priority) ELSE excluded.priority END,
    blocked_by = CASE WHEN q.waiting THEN q.blocked_by END
RETURNING id, lane, to_jsonb(keys) AS keys
