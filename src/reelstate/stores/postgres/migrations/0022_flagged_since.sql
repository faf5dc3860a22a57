-- Since when a job is flagged.
ALTER TABLE reelstate.jobs ADD COLUMN flagged_at timestamptz;
