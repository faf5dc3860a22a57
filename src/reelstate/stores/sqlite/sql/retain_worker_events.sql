-- Delete old events of workers that are not listed any more, and of findings; a cursor before the last is expired.
INSERT INTO facts (name, value)
SELECT 'events_floor', '0.' || max(old.id) FROM (
        SELECT e.id FROM events AS e
        WHERE e.entity = 'worker' AND e.at < :past
          AND NOT EXISTS (SELECT 1 FROM workers AS w WHERE w.id = e.worker_id)
        UNION ALL
        SELECT e.id FROM events AS e WHERE e.entity = 'finding' AND e.at < :past
        LIMIT :limit) AS old
WHERE true HAVING max(old.id) IS NOT NULL
ON CONFLICT (name) DO UPDATE SET value = excluded.value
WHERE CAST(substr(excluded.value, 3) AS INTEGER) > CAST(substr(facts.value, 3) AS INTEGER);
DELETE FROM events WHERE id IN (
        SELECT e.id FROM events AS e
        WHERE e.entity = 'worker' AND e.at < :past
          AND NOT EXISTS (SELECT 1 FROM workers AS w WHERE w.id = e.worker_id)
        UNION ALL
        SELECT e.id FROM events AS e WHERE e.entity = 'finding' AND e.at < :past
        LIMIT :limit);
SELECT changes() AS rows
