-- Lock jobs that are still as they were selected; the others are left for later. Their events must be older than every
-- open transaction: a feed that has not read them yet could not know that they are gone.
SELECT j.id FROM reelstate.jobs j JOIN unnest(%(id)s::bigint[], %(version)s::integer[]) AS given (id, version) USING (id)
WHERE j.version = given.version AND (j.status IN ('completed', 'cancelled', 'failed', 'quarantined')) IS TRUE
  AND NOT EXISTS (SELECT FROM reelstate.tasks t WHERE t.job_id = j.id AND t.worker_id IS NOT NULL)
  AND NOT EXISTS (SELECT FROM reelstate.events e
                  WHERE e.job_id = j.id AND e.xid >= pg_snapshot_xmin(pg_current_snapshot()))
ORDER BY j.id FOR UPDATE OF j SKIP LOCKED
