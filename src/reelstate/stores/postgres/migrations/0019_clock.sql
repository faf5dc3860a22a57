-- Since when no keeper was here, when a gap ended in a grace: only leases that ran out after that have it.
ALTER TABLE reelstate.keeper ADD COLUMN gap_since timestamptz;
-- Nothing ends before it began, whatever the clock does.
UPDATE reelstate.jobs SET finished_at = started_at WHERE finished_at < started_at;
UPDATE reelstate.tasks SET finished_at = started_at WHERE finished_at < started_at;
ALTER TABLE reelstate.jobs ADD CONSTRAINT jobs_times CHECK (finished_at >= started_at);
ALTER TABLE reelstate.tasks ADD CONSTRAINT tasks_times CHECK (finished_at >= started_at);
