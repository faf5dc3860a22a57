-- Since when no keeper was here, when a gap ended in a grace: only leases that ran out after that have it.
ALTER TABLE keeper ADD COLUMN gap_since REAL;
-- Nothing ends before it began, whatever the clock does. A constraint can't be added here; a guard holds it.
UPDATE jobs SET finished_at = started_at WHERE finished_at < started_at;
UPDATE tasks SET finished_at = started_at WHERE finished_at < started_at;
