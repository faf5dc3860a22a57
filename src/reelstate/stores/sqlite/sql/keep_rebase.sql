-- The clock was set by `step` seconds: move leases, due times and the times they are counted from along, if they were
-- written before that. After a step forward those are not younger than `seen_at`; after a step back those in the future,
-- or older than the last sweeps (`lead`). No past event is left in the future, and no lease is longer than its task's.
UPDATE tasks
SET lease_expires_at = min(
        CASE WHEN CASE WHEN :step > 0 THEN lease_expires_at <= :seen_at + lease ELSE lease_expires_at > :now + lease END
             THEN lease_expires_at + :step ELSE lease_expires_at END,
        :now + lease),
    claimed_at = min(claimed_at + CASE WHEN CASE WHEN :step > 0 THEN claimed_at <= :seen_at ELSE claimed_at <= :now - :lead OR claimed_at > :now END
                                  THEN :step ELSE 0 END, :now),
    progress_at = min(progress_at + CASE WHEN CASE WHEN :step > 0 THEN progress_at <= :seen_at ELSE progress_at <= :now - :lead OR progress_at > :now END
                                    THEN :step ELSE 0 END, :now),
    started_at = min(started_at, :now)
WHERE status = 'running';
UPDATE tasks SET run_after = run_after + :step, changed_at = min(changed_at, :now)
WHERE run_after IS NOT NULL
  AND CASE WHEN :step > 0 THEN changed_at <= :seen_at ELSE changed_at <= :now - :lead OR changed_at > :now END;
UPDATE tasks SET ready_at = :now WHERE status = 'ready' AND ready_at > :now;
UPDATE jobs
SET run_after = run_after + CASE WHEN CASE WHEN :step > 0 THEN created_at <= :seen_at ELSE created_at <= :now - :lead OR created_at > :now END
                            THEN :step ELSE 0 END,
    started_at = min(started_at, :now), changed_at = min(changed_at, :now)
WHERE status IN ('pending', 'validating', 'planning', 'downloading_inputs', 'processing', 'uploading_outputs')
  AND status <> 'completed' AND (run_after > CASE WHEN :step > 0 THEN :seen_at ELSE :now - :lead END OR started_at > :now OR changed_at > :now);
UPDATE workers SET last_heartbeat_at = min(last_heartbeat_at, :now), registered_at = min(registered_at, :now)
WHERE last_heartbeat_at > :now OR registered_at > :now
