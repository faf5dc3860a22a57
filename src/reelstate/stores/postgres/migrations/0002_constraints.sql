-- One statement a constraint, each on its own, so that doctor can put back exactly what is missing.
ALTER TABLE reelstate.jobs ADD CONSTRAINT jobs_status CHECK (status IN ('pending', 'validating', 'planning',
    'downloading_inputs', 'processing', 'uploading_outputs', 'completed', 'failed', 'quarantined', 'cancelled'));
ALTER TABLE reelstate.jobs ADD CONSTRAINT jobs_phase CHECK (phase IN ('validating', 'planning',
    'downloading_inputs', 'processing', 'uploading_outputs'));
ALTER TABLE reelstate.jobs ADD CONSTRAINT jobs_priority CHECK (priority BETWEEN 0 AND 10);
ALTER TABLE reelstate.jobs ADD CONSTRAINT jobs_version CHECK (version >= 1);
ALTER TABLE reelstate.jobs ADD CONSTRAINT jobs_finished CHECK ((finished_at IS NOT NULL)
    = (status IN ('completed', 'failed', 'quarantined', 'cancelled')));
ALTER TABLE reelstate.stages ADD CONSTRAINT stages_counters CHECK (total >= 0 AND done >= 0 AND skipped >= 0
    AND failed >= 0 AND done + skipped + failed <= total);
ALTER TABLE reelstate.tasks ADD CONSTRAINT tasks_pkey PRIMARY KEY (job_id, stage, part);
ALTER TABLE reelstate.tasks ADD CONSTRAINT tasks_status CHECK (status IN ('new', 'ready', 'running', 'done', 'error',
    'skipped', 'cancelled'));
ALTER TABLE reelstate.tasks ADD CONSTRAINT tasks_lease CHECK ((status = 'running') = (worker_id IS NOT NULL)
    AND (status = 'running') = (lease_expires_at IS NOT NULL));
ALTER TABLE reelstate.tasks ADD CONSTRAINT tasks_finished CHECK ((finished_at IS NOT NULL)
    = (status IN ('done', 'skipped', 'cancelled') OR status = 'error' AND run_after IS NULL));
ALTER TABLE reelstate.tasks ADD CONSTRAINT tasks_ready CHECK (status <> 'ready'
    OR ready_at IS NOT NULL AND run_after IS NULL);
ALTER TABLE reelstate.tasks ADD CONSTRAINT tasks_attempts CHECK (attempt BETWEEN 0 AND max_attempts);
ALTER TABLE reelstate.tasks ADD CONSTRAINT tasks_lost CHECK (lost_alone BETWEEN 0 AND lost);
ALTER TABLE reelstate.tasks ADD CONSTRAINT tasks_numbers CHECK (part >= 0 AND stage >= 0 AND priority BETWEEN 0 AND 10
    AND version >= 1 AND token >= 0 AND percent BETWEEN 0 AND 100);
ALTER TABLE reelstate.workers ADD CONSTRAINT workers_status CHECK (status IN ('active', 'draining', 'offline'));
ALTER TABLE reelstate.workers ADD CONSTRAINT workers_kind CHECK (kind IN ('local', 'remote'));
ALTER TABLE reelstate.workers ADD CONSTRAINT workers_numbers CHECK (slots >= 1 AND version >= 1);
ALTER TABLE reelstate.events ADD CONSTRAINT events_entity CHECK (entity IN ('job', 'stage', 'task', 'worker'));
