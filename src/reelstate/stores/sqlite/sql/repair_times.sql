-- Times that are not numbers become the time that their text holds, else now. No finish precedes its start.
UPDATE jobs
SET run_after = CASE WHEN run_after >= '' THEN coalesce((julianday(run_after) - 2440587.5) * 86400.0, :now) ELSE run_after END,
    created_at = CASE WHEN created_at >= '' THEN coalesce((julianday(created_at) - 2440587.5) * 86400.0, :now) ELSE created_at END,
    started_at = CASE WHEN started_at >= '' THEN coalesce((julianday(started_at) - 2440587.5) * 86400.0, :now) ELSE started_at END,
    changed_at = CASE WHEN changed_at >= '' THEN coalesce((julianday(changed_at) - 2440587.5) * 86400.0, :now) ELSE changed_at END,
    finished_at = CASE WHEN finished_at >= '' THEN coalesce((julianday(finished_at) - 2440587.5) * 86400.0, :now) ELSE finished_at END
WHERE run_after >= '' OR created_at >= '' OR started_at >= '' OR changed_at >= '' OR finished_at >= '';
UPDATE tasks
SET lease_expires_at = CASE WHEN lease_expires_at >= '' THEN coalesce((julianday(lease_expires_at) - 2440587.5) * 86400.0, :now) ELSE lease_expires_at END,
    run_after = CASE WHEN run_after >= '' THEN coalesce((julianday(run_after) - 2440587.5) * 86400.0, :now) ELSE run_after END,
    ready_at = CASE WHEN ready_at >= '' THEN coalesce((julianday(ready_at) - 2440587.5) * 86400.0, :now) ELSE ready_at END,
    claimed_at = CASE WHEN claimed_at >= '' THEN coalesce((julianday(claimed_at) - 2440587.5) * 86400.0, :now) ELSE claimed_at END,
    started_at = CASE WHEN started_at >= '' THEN coalesce((julianday(started_at) - 2440587.5) * 86400.0, :now) ELSE started_at END,
    progress_at = CASE WHEN progress_at >= '' THEN coalesce((julianday(progress_at) - 2440587.5) * 86400.0, :now) ELSE progress_at END,
    finished_at = CASE WHEN finished_at >= '' THEN coalesce((julianday(finished_at) - 2440587.5) * 86400.0, :now) ELSE finished_at END,
    changed_at = CASE WHEN changed_at >= '' THEN coalesce((julianday(changed_at) - 2440587.5) * 86400.0, :now) ELSE changed_at END
WHERE lease_expires_at >= '' OR run_after >= '' OR ready_at >= '' OR claimed_at >= '' OR started_at >= '' OR progress_at >= '' OR finished_at >= '' OR changed_at >= '';
UPDATE stages
SET opened_at = CASE WHEN opened_at >= '' THEN coalesce((julianday(opened_at) - 2440587.5) * 86400.0, :now) ELSE opened_at END
WHERE opened_at >= '';
UPDATE workers
SET changed_at = CASE WHEN changed_at >= '' THEN coalesce((julianday(changed_at) - 2440587.5) * 86400.0, :now) ELSE changed_at END,
    registered_at = CASE WHEN registered_at >= '' THEN coalesce((julianday(registered_at) - 2440587.5) * 86400.0, :now) ELSE registered_at END,
    last_heartbeat_at = CASE WHEN last_heartbeat_at >= '' THEN coalesce((julianday(last_heartbeat_at) - 2440587.5) * 86400.0, :now) ELSE last_heartbeat_at END
WHERE changed_at >= '' OR registered_at >= '' OR last_heartbeat_at >= '';
UPDATE jobs SET finished_at = started_at WHERE finished_at < started_at;
UPDATE tasks SET finished_at = started_at WHERE finished_at < started_at
