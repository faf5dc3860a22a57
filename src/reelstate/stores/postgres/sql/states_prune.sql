-- Delete old versions that a newer one follows. Older cursors are recognised by the floor of the job in its own
-- feed, by the fact `floor` in the feed of the engine. The newest version of each state stays, whatever its age.
WITH log AS (
    DELETE FROM reelstate.state_log l
    USING unnest(%(xids)s::text[], %(ids)s::bigint[]) AS old (xid, id)
    WHERE l.xid = old.xid::xid8 AND l.id = old.id
    RETURNING l.job_id, l.xid, l.id
), floors AS (
    UPDATE reelstate.state_jobs j SET floor_xid = last.xid, floor_id = last.id
    FROM (SELECT DISTINCT ON (job_id) job_id, xid, id FROM log ORDER BY job_id, xid DESC, id DESC) AS last
    WHERE j.job_id = last.job_id AND (j.floor_xid, j.floor_id) < (last.xid, last.id)
), fact AS (
    INSERT INTO reelstate.facts AS f (name, value)
    SELECT 'floor', xid::text || '.' || id FROM log
    WHERE xid < pg_snapshot_xmin(pg_current_snapshot()) ORDER BY xid DESC, id DESC LIMIT 1
    ON CONFLICT (name) DO UPDATE SET value = excluded.value
    WHERE (split_part(excluded.value, '.', 1)::xid8, split_part(excluded.value, '.', 2)::bigint)
        > (split_part(f.value, '.', 1)::xid8, split_part(f.value, '.', 2)::bigint)
)
SELECT id FROM log
