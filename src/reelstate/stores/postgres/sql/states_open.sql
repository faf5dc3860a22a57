-- Create a job, or the next generation of a deleted one; an existing job stays as it is.
INSERT INTO reelstate.state_jobs AS j (job_id, tasks, tags, created_at)
VALUES (%(job_id)s, %(tasks)s, %(tags)s::text[], coalesce(%(now)s::timestamptz, clock_timestamp()))
ON CONFLICT (job_id) DO UPDATE
SET tasks = excluded.tasks, tags = excluded.tags, generation = j.generation + 1, created_at = excluded.created_at,
    deleted_at = NULL
WHERE j.deleted_at IS NOT NULL
