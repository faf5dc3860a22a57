-- From which loss on a task runs alone on a worker, and how long it may report no progress before its job is flagged
-- (empty: what the deployment says). What is flagged of a job, and how many handlers of a worker do not stop.
ALTER TABLE reelstate.tasks ADD COLUMN isolate_after smallint NOT NULL DEFAULT 2;
ALTER TABLE reelstate.tasks ADD COLUMN flag_after real;
ALTER TABLE reelstate.jobs ADD COLUMN flagged text;
ALTER TABLE reelstate.workers ADD COLUMN stuck integer NOT NULL DEFAULT 0;
CREATE INDEX jobs_flagged ON reelstate.jobs (id) WHERE flagged IS NOT NULL;
