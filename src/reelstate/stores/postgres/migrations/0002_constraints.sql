-- One statement a constraint, each on its own, so that doctor can put back exactly what is missing.
ALTER TABLE reelstate.jobs ADD CONSTRAINT jobs_state CHECK (CASE
    WHEN status IN ('completed', 'failed', 'quarantined', 'cancelled') THEN finished_at IS NOT NULL
    ELSE finished_at IS NULL AND status IN ('pending', 'processing', 'validating', 'planning', 'downloading_inputs',
        'uploading_outputs') END);
ALTER TABLE reelstate.jobs ADD CONSTRAINT jobs_numbers CHECK (priority >= 0 AND priority <= 10 AND version >= 1
    AND phase IN ('processing', 'validating', 'planning', 'downloading_inputs', 'uploading_outputs'));
ALTER TABLE reelstate.stages ADD CONSTRAINT stages_counters CHECK (total >= 0 AND done >= 0 AND skipped >= 0
    AND failed >= 0 AND done + skipped + failed <= total);
ALTER TABLE reelstate.tasks ADD CONSTRAINT tasks_pkey PRIMARY KEY (job_id, stage, part);
-- What each status demands of the lease, the end and the next run. One expression, because it is checked at every write.
ALTER TABLE reelstate.tasks ADD CONSTRAINT tasks_state CHECK (CASE status
    WHEN 'ready' THEN worker_id IS NULL AND lease_expires_at IS NULL AND finished_at IS NULL AND run_after IS NULL
        AND ready_at IS NOT NULL
    WHEN 'running' THEN worker_id IS NOT NULL AND lease_expires_at IS NOT NULL AND finished_at IS NULL
        AND run_after IS NULL
    WHEN 'error' THEN worker_id IS NULL AND lease_expires_at IS NULL AND (finished_at IS NULL) = (run_after IS NOT NULL)
    WHEN 'new' THEN worker_id IS NULL AND lease_expires_at IS NULL AND finished_at IS NULL
    ELSE status IN ('done', 'skipped', 'cancelled') AND worker_id IS NULL AND lease_expires_at IS NULL
        AND finished_at IS NOT NULL AND run_after IS NULL END);
ALTER TABLE reelstate.tasks ADD CONSTRAINT tasks_numbers CHECK (attempt >= 0 AND attempt <= max_attempts
    AND lost_alone >= 0 AND lost_alone <= lost AND part >= 0 AND stage >= 0 AND priority >= 0 AND priority <= 10
    AND version >= 1 AND token >= 0 AND percent >= 0 AND percent <= 100 AND lane <> 0);
ALTER TABLE reelstate.workers ADD CONSTRAINT workers_status CHECK (status IN ('active', 'draining', 'offline'));
ALTER TABLE reelstate.workers ADD CONSTRAINT workers_kind CHECK (kind IN ('local', 'remote'));
ALTER TABLE reelstate.workers ADD CONSTRAINT workers_numbers CHECK (slots >= 1 AND version >= 1);
ALTER TABLE reelstate.events ADD CONSTRAINT events_entity CHECK (entity IN ('job', 'stage', 'task', 'worker'));
