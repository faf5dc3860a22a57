-- Times that are not numbers. SQLite sorts numbers before text, and text before bytes.
SELECT id AS job_id, -1 AS stage, -1 AS part, status, CASE WHEN run_after >= '' THEN 'run_after ' || quote(run_after) || ' ' ELSE '' END
    || CASE WHEN created_at >= '' THEN 'created_at ' || quote(created_at) || ' ' ELSE '' END
    || CASE WHEN started_at >= '' THEN 'started_at ' || quote(started_at) || ' ' ELSE '' END
    || CASE WHEN changed_at >= '' THEN 'changed_at ' || quote(changed_at) || ' ' ELSE '' END
    || CASE WHEN finished_at >= '' THEN 'finished_at ' || quote(finished_at) || ' ' ELSE '' END AS detail
FROM jobs WHERE run_after >= '' OR created_at >= '' OR started_at >= '' OR changed_at >= '' OR finished_at >= ''
UNION ALL
SELECT job_id, stage, part, status, CASE WHEN lease_expires_at >= '' THEN 'lease_expires_at ' || quote(lease_expires_at) || ' ' ELSE '' END
    || CASE WHEN run_after >= '' THEN 'run_after ' || quote(run_after) || ' ' ELSE '' END
    || CASE WHEN ready_at >= '' THEN 'ready_at ' || quote(ready_at) || ' ' ELSE '' END
    || CASE WHEN claimed_at >= '' THEN 'claimed_at ' || quote(claimed_at) || ' ' ELSE '' END
    || CASE WHEN started_at >= '' THEN 'started_at ' || quote(started_at) || ' ' ELSE '' END
    || CASE WHEN progress_at >= '' THEN 'progress_at ' || quote(progress_at) || ' ' ELSE '' END
    || CASE WHEN finished_at >= '' THEN 'finished_at ' || quote(finished_at) || ' ' ELSE '' END
    || CASE WHEN changed_at >= '' THEN 'changed_at ' || quote(changed_at) || ' ' ELSE '' END
FROM tasks WHERE lease_expires_at >= '' OR run_after >= '' OR ready_at >= '' OR claimed_at >= '' OR started_at >= '' OR progress_at >= '' OR finished_at >= '' OR changed_at >= ''
UNION ALL
SELECT job_id, stage, -1, 'opened', CASE WHEN opened_at >= '' THEN 'opened_at ' || quote(opened_at) || ' ' ELSE '' END
FROM stages WHERE opened_at >= ''
UNION ALL
SELECT -1, -1, -1, status, 'worker ' || id || ': ' || CASE WHEN changed_at >= '' THEN 'changed_at ' || quote(changed_at) || ' ' ELSE '' END
    || CASE WHEN registered_at >= '' THEN 'registered_at ' || quote(registered_at) || ' ' ELSE '' END
    || CASE WHEN last_heartbeat_at >= '' THEN 'last_heartbeat_at ' || quote(last_heartbeat_at) || ' ' ELSE '' END
FROM workers WHERE changed_at >= '' OR registered_at >= '' OR last_heartbeat_at >= ''
LIMIT :limit
