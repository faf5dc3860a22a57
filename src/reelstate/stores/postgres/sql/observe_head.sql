-- Where the feed stands now: behind every transaction that is older than each open one.
SELECT (pg_snapshot_xmin(pg_current_snapshot())::text::bigint - 1)::text AS xid, 9223372036854775807 AS id
