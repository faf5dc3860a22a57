-- From which loss on a task runs alone on a worker, and how long it may report no progress before its job is flagged
-- (empty: what the deployment says). What is flagged of a job, and how many handlers of a worker do not stop.
ALTER TABLE tasks ADD COLUMN isolate_after INTEGER NOT NULL DEFAULT 2;
ALTER TABLE tasks ADD COLUMN flag_after REAL;
ALTER TABLE jobs ADD COLUMN flagged TEXT;
ALTER TABLE workers ADD COLUMN stuck INTEGER NOT NULL DEFAULT 0;
CREATE INDEX jobs_flagged ON jobs (id) WHERE flagged IS NOT NULL;
