-- Differs from PostgreSQL: a table's own constraints can't be dropped and added here, so only the key stands apart,
-- where doctor can put it back once a part has a single task again.
CREATE UNIQUE INDEX tasks_pkey ON tasks (job_id, stage, part);
