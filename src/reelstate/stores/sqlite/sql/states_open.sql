-- A job that is not there is made, one that was deleted is made anew, and one that is there stays as it is. No cursor of a
-- job is 0, the cursor before everything: the log takes its numbers from those of events, and begins after 1.
INSERT INTO sqlite_sequence (name, seq) SELECT 'events', 1 WHERE NOT EXISTS (
    SELECT 1 FROM sqlite_sequence WHERE name = 'events');

INSERT INTO state_jobs (job_id, tasks, tags, created_at) VALUES (:job_id, :tasks, :tags, :now)
ON CONFLICT (job_id) DO UPDATE
SET tasks = excluded.tasks, tags = excluded.tags, generation = state_jobs.generation + 1,
    created_at = excluded.created_at, deleted_at = NULL
WHERE state_jobs.deleted_at IS NOT NULL
