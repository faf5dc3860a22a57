-- What is kept of a worker instance for ever, after its row in `workers` is pruned: its name, for tasks and events that
-- refer to it, and how many runs it completed and failed. Completions add to this row and not to the one in `workers`,
-- which claims lock.
CREATE TABLE reelstate.worker_instances (
    id     bigint PRIMARY KEY,
    name   text NOT NULL,
    done   bigint NOT NULL DEFAULT 0,
    failed bigint NOT NULL DEFAULT 0
);
INSERT INTO reelstate.worker_instances (id, name) SELECT id, name FROM reelstate.workers;

ALTER TABLE reelstate.steps ADD COLUMN type text NOT NULL DEFAULT 'command', ADD COLUMN started_at timestamptz;
