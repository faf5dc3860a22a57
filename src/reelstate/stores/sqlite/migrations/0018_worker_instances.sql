-- What is kept of a worker instance for ever, after its row in `workers` is pruned: its name, for tasks and events that
-- refer to it, and how many runs it completed and failed.
CREATE TABLE worker_instances (
    id     INTEGER PRIMARY KEY,
    name   TEXT NOT NULL,
    done   INTEGER NOT NULL DEFAULT 0,
    failed INTEGER NOT NULL DEFAULT 0
);
INSERT INTO worker_instances (id, name) SELECT id, name FROM workers;

ALTER TABLE steps ADD COLUMN type TEXT NOT NULL DEFAULT 'command';
ALTER TABLE steps ADD COLUMN started_at REAL;
