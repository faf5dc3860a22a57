-- Old versions of states that a newer one follows, as far as every feed may read them.
SELECT l.xid::text AS xid, l.id FROM reelstate.state_log l
JOIN reelstate.states s USING (job_id, generation, task, tag)
WHERE l.at <= coalesce(%(now)s::timestamptz, clock_timestamp()) - make_interval(secs => %(older)s)
  AND l.version < s.version AND l.xid < pg_snapshot_xmin(pg_current_snapshot())
LIMIT %(limit)s
