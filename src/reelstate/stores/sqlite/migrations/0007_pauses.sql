-- Pauses of everything, a pipeline, a stage, a user or a worker's name. A claim reads those in force: it leaves out the
-- lanes of a paused pipeline, and ready tasks of a paused stage or user. Those are then parked, so that later claims do
-- not meet them: a parked task waits in lane n + 1073741824 instead of n (isolated: -n - 1073741824), which no claim
-- reads, and returns when nothing that pauses it is in force.

-- `name` is the pipeline, user or worker. A pause that has been lifted stays as a record. `settled_at` is set when the
-- tasks that it had parked are in their lanes again.
CREATE TABLE pauses (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    scope          TEXT NOT NULL CONSTRAINT pauses_scope CHECK (scope IN ('all', 'pipeline', 'stage', 'user', 'worker')),
    name           TEXT NOT NULL DEFAULT '',
    stage          TEXT NOT NULL DEFAULT '',
    reason         TEXT,
    actor          TEXT NOT NULL DEFAULT 'sql',
    paused_at      REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400.0),
    resumed_at     REAL,
    resumed_by     TEXT,
    resumed_reason TEXT,
    settled_at     REAL
);
CREATE UNIQUE INDEX pauses_in_force ON pauses (scope, name, stage) WHERE resumed_at IS NULL;
CREATE INDEX pauses_unsettled ON pauses (resumed_at) WHERE resumed_at IS NOT NULL AND settled_at IS NULL;

-- Only ready tasks are parked: one that is reset, cancelled or forced has its own lane again.
CREATE TRIGGER unpark AFTER UPDATE OF status ON tasks
WHEN NEW.status <> 'ready' AND (NEW.lane > 1073741824 OR NEW.lane < -1073741824)
BEGIN
    UPDATE tasks SET lane = lane - CASE WHEN lane > 0 THEN 1073741824 ELSE -1073741824 END WHERE rowid = NEW.rowid;
END;
