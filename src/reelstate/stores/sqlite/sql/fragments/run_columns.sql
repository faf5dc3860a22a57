r.schedule_id, r.key, r.tick, r.source, r.outcome, r.job_id, j.status AS job_status, r.reason, r.at
