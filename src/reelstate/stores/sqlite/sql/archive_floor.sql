-- Events and states of jobs are about to leave the log of the feed: a cursor before the last of them is expired.
INSERT INTO facts (name, value)
SELECT 'events_floor', '0.' || max(last.id)
FROM (
    SELECT max(e.id) AS id FROM events AS e INDEXED BY events_by_entity
    WHERE e.job_id IN (SELECT value FROM json_each(:job_ids))
    UNION ALL
    SELECT max(l.id) FROM state_log AS l WHERE l.job_id IN (SELECT value FROM json_each(:names))
) AS last
WHERE true HAVING max(last.id) IS NOT NULL
ON CONFLICT (name) DO UPDATE SET value = excluded.value
WHERE CAST(substr(excluded.value, 3) AS INTEGER) > CAST(substr(facts.value, 3) AS INTEGER)
