-- The queues of keys in lanes, which have tasks that wait from now on. One that had none takes its turn after those that
-- wait: its share begins at theirs, or where the last one ended.
-- Differs from PostgreSQL: ids of queues begin after the lanes, and the keys are a JSON array.
UPDATE limit_keys SET queues = limit_keys.queues + new.queues
FROM (SELECT part.value AS key, count(*) AS queues
      FROM json_each(:rows) AS given CROSS JOIN json_each(json_extract(given.value, '$[1]')) AS part
      WHERE NOT EXISTS (SELECT 1 FROM limit_queues AS q WHERE q.lane = json_extract(given.value, '$[0]')
                        AND q.keys = json_extract(given.value, '$[1]'))
      GROUP BY part.value) AS new
WHERE limit_keys.id = new.key;
WITH given (lane, keys, priority) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]') FROM json_each(:rows)
), floor (lane, turn) AS MATERIALIZED (
    SELECT lane, coalesce(
        (SELECT min(w.turn) FROM limit_queues AS w WHERE w.lane = given.lane AND w.waiting),
        (SELECT max(w.turn) FROM limit_queues AS w WHERE w.lane = given.lane), 0)
    FROM given GROUP BY lane
), last (id) AS MATERIALIZED (
    SELECT coalesce(max(id), 536870912) FROM limit_queues
)
INSERT INTO limit_queues (id, lane, keys, priority, waiting, turn)
SELECT last.id + row_number() OVER (), given.lane, given.keys, given.priority, 1, floor.turn
FROM given CROSS JOIN floor ON floor.lane = given.lane CROSS JOIN last
WHERE true
ON CONFLICT (lane, keys) DO UPDATE
SET waiting = 1, turn = CASE WHEN waiting THEN turn ELSE max(turn, excluded.turn) END,
    priority = CASE WHEN waiting THEN max(priority, excluded.priority) ELSE excluded.priority END,
    blocked_by = CASE WHEN waiting THEN blocked_by END
RETURNING id, lane, keys
