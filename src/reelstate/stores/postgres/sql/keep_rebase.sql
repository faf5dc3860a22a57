-- The clock was set by `step` seconds: move leases, due times and the times they are counted from along, if they were
-- written before that. After a step forward those are not younger than `seen_at`; after a step back those in the future,
-- or older than the last sweeps (`lead`). No past event is left in the future, and no lease is longer than its task's.
WITH clock AS (
    SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now, make_interval(secs => %(step)s) AS moved,
           %(seen_at)s::timestamptz AS seen_at, make_interval(secs => %(lead)s) AS lead, %(step)s > 0 AS forward
), running AS (
    UPDATE reelstate.tasks t
    SET lease_expires_at = least(
            CASE WHEN CASE WHEN forward THEN t.lease_expires_at <= seen_at + make_interval(secs => t.lease)
                           ELSE t.lease_expires_at > now + make_interval(secs => t.lease) END
                 THEN t.lease_expires_at + moved ELSE t.lease_expires_at END,
            now + make_interval(secs => t.lease)),
        claimed_at = CASE WHEN CASE WHEN forward THEN t.claimed_at <= seen_at
                                    ELSE t.claimed_at <= now - lead OR t.claimed_at > now END
                          THEN least(t.claimed_at + moved, now) ELSE t.claimed_at END,
        progress_at = CASE WHEN CASE WHEN forward THEN t.progress_at <= seen_at
                                     ELSE t.progress_at <= now - lead OR t.progress_at > now END
                           THEN least(t.progress_at + moved, now) ELSE t.progress_at END,
        started_at = CASE WHEN t.started_at > now THEN now ELSE t.started_at END
    FROM clock WHERE t.worker_id IS NOT NULL AND t.status = 'running'
), waiting AS (
    UPDATE reelstate.tasks t SET run_after = t.run_after + moved, changed_at = least(t.changed_at, now)
    FROM clock
    WHERE t.run_after IS NOT NULL
      AND CASE WHEN forward THEN t.changed_at <= seen_at ELSE t.changed_at <= now - lead OR t.changed_at > now END
), ready AS (
    UPDATE reelstate.tasks t SET ready_at = now FROM clock WHERE t.status = 'ready' AND t.ready_at > now
), jobs AS (
    UPDATE reelstate.jobs j
    SET run_after = j.run_after + CASE WHEN CASE WHEN forward THEN j.created_at <= seen_at
                                                 ELSE j.created_at <= now - lead OR j.created_at > now END
                                       THEN moved ELSE interval '0' END,
        started_at = CASE WHEN j.started_at > now THEN now ELSE j.started_at END, changed_at = least(j.changed_at, now)
    FROM clock
    WHERE j.status IN ('pending', 'validating', 'planning', 'downloading_inputs', 'processing', 'uploading_outputs')
      AND (j.run_after > CASE WHEN forward THEN seen_at ELSE now - lead END OR j.started_at > now OR j.changed_at > now)
)
UPDATE reelstate.workers w
SET last_heartbeat_at = CASE WHEN w.last_heartbeat_at > now THEN now ELSE w.last_heartbeat_at END,
    registered_at = least(w.registered_at, now)
FROM clock WHERE w.last_heartbeat_at > now OR w.registered_at > now
