-- The tasks of a job that wait for a time: a delayed first run, or the next attempt after a failure. A task is in the index
-- only while it has `run_after`, so a plain submit, claim or complete does not touch it.
CREATE INDEX tasks_waiting ON tasks (job_id, stage, status, run_after) WHERE run_after IS NOT NULL;
