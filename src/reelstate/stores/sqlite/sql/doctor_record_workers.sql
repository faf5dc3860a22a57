SELECT w.id AS job_id, -1 AS stage, -1 AS part, w.status,
       'worker ' || w.id || ': version ' || w.version || ' ' || w.status || ', its record: ' || coalesce(e.events, 0)
       || ' events up to ' || coalesce(e.highest, 0) || ' ' || coalesce(e.last, 'nothing') AS detail
FROM workers AS w
LEFT JOIN (
    SELECT worker_id, count(*) AS events, max(version) AS highest, target AS last
    FROM events WHERE entity = 'worker' GROUP BY worker_id
) AS e ON e.worker_id = w.id
WHERE (coalesce(e.events, 0), coalesce(e.highest, 0), e.last) IS NOT (w.version, w.version, w.status)
ORDER BY w.id LIMIT :limit
