-- The job becomes a tombstone; its states are deleted. Older cursors are recognised by the floor of the job in its own
-- feed, by the fact `floor` in the feed of the engine, which is never beyond what that feed may read.
WITH gone AS (
    UPDATE reelstate.state_jobs
    SET deleted_at = coalesce(%(now)s::timestamptz, clock_timestamp()), floor_xid = pg_current_xact_id(),
        floor_id = nextval(pg_get_serial_sequence('reelstate.events', 'id'))
    WHERE job_id = ANY (%(job_ids)s::text[]) AND deleted_at IS NULL
    RETURNING job_id
), states AS (
    DELETE FROM reelstate.states s USING gone WHERE s.job_id = gone.job_id
), log AS (
    DELETE FROM reelstate.state_log l USING gone WHERE l.job_id = gone.job_id
    RETURNING l.xid, l.id
), fact AS (
    INSERT INTO reelstate.facts AS f (name, value)
    SELECT 'floor', xid::text || '.' || id FROM log
    WHERE xid < pg_snapshot_xmin(pg_current_snapshot()) ORDER BY xid DESC, id DESC LIMIT 1
    ON CONFLICT (name) DO UPDATE SET value = excluded.value
    WHERE (split_part(excluded.value, '.', 1)::xid8, split_part(excluded.value, '.', 2)::bigint)
        > (split_part(f.value, '.', 1)::xid8, split_part(f.value, '.', 2)::bigint)
)
SELECT job_id FROM gone
