-- Delete old events of workers that are not listed any more, and of findings; a cursor before the last is expired.
WITH gone AS (
    DELETE FROM reelstate.events
    WHERE (xid, id) IN (
        SELECT e.xid, e.id FROM reelstate.events e
        WHERE e.entity = 'worker' AND e.at < %(past)s::timestamptz AND e.xid < pg_snapshot_xmin(pg_current_snapshot())
          AND NOT EXISTS (SELECT FROM reelstate.workers w WHERE w.id = e.worker_id)
        UNION ALL
        SELECT e.xid, e.id FROM reelstate.events e
        WHERE e.entity = 'finding' AND e.at < %(past)s::timestamptz AND e.xid < pg_snapshot_xmin(pg_current_snapshot())
        LIMIT %(limit)s)
    RETURNING xid, id
), fact AS (
    INSERT INTO reelstate.facts AS f (name, value)
    SELECT 'events_floor', gone.xid::text || '.' || gone.id FROM gone ORDER BY gone.xid DESC, gone.id DESC LIMIT 1
    ON CONFLICT (name) DO UPDATE SET value = excluded.value
    WHERE (split_part(excluded.value, '.', 1)::xid8, split_part(excluded.value, '.', 2)::bigint)
        > (split_part(f.value, '.', 1)::xid8, split_part(f.value, '.', 2)::bigint)
)
SELECT count(*) AS rows FROM gone
