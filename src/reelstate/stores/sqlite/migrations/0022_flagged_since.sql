-- Since when a job is flagged.
ALTER TABLE jobs ADD COLUMN flagged_at REAL;
