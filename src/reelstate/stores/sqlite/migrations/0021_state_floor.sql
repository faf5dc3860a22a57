-- Up to where the log of a state job was deleted, with the job or by age: an older cursor is told so.
ALTER TABLE state_jobs ADD COLUMN floor_id INTEGER NOT NULL DEFAULT 0;
