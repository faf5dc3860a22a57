-- Create a job, or the next generation of a deleted one; an existing job stays as it is.
-- The log takes its ids from the sequence of events, which starts at 1: no cursor is 0, the one before everything.
INSERT INTO sqlite_sequence (name, seq) SELECT 'events', 1 WHERE NOT EXISTS (
    SELECT 1 FROM sqlite_sequence WHERE name = 'events');

INSERT INTO state_jobs (job_id, tasks, tags, created_at) VALUES (:job_id, :tasks, :tags, :now)
ON CONFLICT (job_id) DO UPDATE
SET tasks = excluded.tasks, tags = excluded.tags, generation = state_jobs.generation + 1,
    created_at = excluded.created_at, deleted_at = NULL
WHERE state_jobs.deleted_at IS NOT NULL
