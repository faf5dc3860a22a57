-- Events and states of jobs are about to leave the log of the feed: a cursor before the last of them is expired.
INSERT INTO reelstate.facts AS f (name, value)
SELECT 'events_floor', last.xid::text || '.' || last.id
FROM (
    (SELECT e.xid, e.id
     FROM (SELECT v.xid, v.id FROM reelstate.events v WHERE v.job_id = ANY (%(job_ids)s::bigint[]) OFFSET 0) AS e
     ORDER BY e.xid DESC, e.id DESC LIMIT 1)
    UNION ALL
    (SELECT l.xid, l.id FROM reelstate.state_log l WHERE l.job_id = ANY (%(names)s::text[])
     ORDER BY l.xid DESC, l.id DESC LIMIT 1)
) AS last
ORDER BY last.xid DESC, last.id DESC LIMIT 1
ON CONFLICT (name) DO UPDATE SET value = excluded.value
WHERE (split_part(excluded.value, '.', 1)::xid8, split_part(excluded.value, '.', 2)::bigint)
    > (split_part(f.value, '.', 1)::xid8, split_part(f.value, '.', 2)::bigint)
