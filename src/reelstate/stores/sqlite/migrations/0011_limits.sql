-- Limits: how many tasks may run at once or start in a period, together or for each value of a key, and turns of keys.
-- A task that a limit may select becomes ready in lane n + 268435456 instead of n (isolated: negative), where it has
-- arrived, but no claim reads. An admission finds its limits and moves it to the queue of their keys (lanes from
-- 536870912), or admits it: then it is in lane n, and counts in each key until its run ends.

-- `per` is the key by which tasks are counted: null (together), `user`, `job`, or `spec.` and names. A limit that was
-- removed, or that selects other tasks now, stays as a record. `settled_at` is set when no task is in its lane that was
-- put there before the limit was known, or that still waits for a limit that was removed.
CREATE TABLE limits (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    name       TEXT NOT NULL,
    pipeline   TEXT,
    stage      TEXT,
    user_id    TEXT,
    per        TEXT,
    running    INTEGER CONSTRAINT limits_running CHECK (running >= 1),
    starts     INTEGER CONSTRAINT limits_starts CHECK (starts >= 1),
    period     REAL CONSTRAINT limits_period CHECK (period > 0),
    weights    TEXT NOT NULL DEFAULT '{}',
    declared   INTEGER NOT NULL DEFAULT 0,
    reason     TEXT,
    actor      TEXT NOT NULL DEFAULT 'sql',
    created_at REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400.0),
    changed_at REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400.0),
    removed_at REAL,
    settled_at REAL,
    CONSTRAINT limits_rate CHECK ((starts IS NULL) = (period IS NULL))
);
CREATE UNIQUE INDEX limits_in_force ON limits (name) WHERE removed_at IS NULL;
CREATE INDEX limits_unsettled ON limits (id) WHERE settled_at IS NULL;

-- The values of the key of a limit that tasks have had. `admitted` tasks run or are the next to be claimed. `queues` is the
-- number of queues that wait for it. From `retry_at` on the queues that it blocks are looked at again.
CREATE TABLE limit_keys (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    limit_id INTEGER NOT NULL,
    key      TEXT NOT NULL,
    admitted INTEGER NOT NULL DEFAULT 0 CONSTRAINT limit_keys_admitted CHECK (admitted >= 0),
    queues   INTEGER NOT NULL DEFAULT 0,
    retry_at REAL,
    UNIQUE (limit_id, key)
);
CREATE INDEX limit_keys_retry ON limit_keys (retry_at) WHERE retry_at IS NOT NULL;

-- Tasks that wait for the same keys in the same lane: their lane is the id of the queue, which begins at 536870913.
-- `turn` is the share that the queue has had: of two with the same priority the one with less is the next.
CREATE TABLE limit_queues (
    id         INTEGER PRIMARY KEY,
    lane       INTEGER NOT NULL,
    keys       TEXT NOT NULL,
    turn       REAL NOT NULL DEFAULT 0,
    priority   INTEGER NOT NULL DEFAULT 0,
    waiting    INTEGER NOT NULL DEFAULT 0,
    blocked_by INTEGER,
    UNIQUE (lane, keys)
);
CREATE INDEX limit_queues_open ON limit_queues (lane, priority DESC, turn) WHERE waiting AND blocked_by IS NULL;
CREATE INDEX limit_queues_blocked ON limit_queues (blocked_by, priority DESC, turn) WHERE blocked_by IS NOT NULL;
CREATE INDEX limit_queues_turns ON limit_queues (lane, turn);
CREATE INDEX limit_queues_waiting ON limit_queues (lane, turn) WHERE waiting;

-- Admitted tasks that have ended: the next admission subtracts them from their keys.
CREATE TABLE limit_ended (
    id    INTEGER PRIMARY KEY,
    queue INTEGER NOT NULL
);

-- Starts of tasks whose limit counts starts; `at` is null until the admitted task is claimed.
CREATE TABLE limit_starts (
    key    INTEGER NOT NULL,
    job_id INTEGER NOT NULL,
    stage  INTEGER NOT NULL,
    part   INTEGER NOT NULL,
    at     REAL
);
CREATE INDEX limit_starts_by_key ON limit_starts (key, at);
CREATE INDEX limit_starts_expected ON limit_starts (job_id, stage, part) WHERE at IS NULL;

-- The queue of a task that a limit selects; most tasks have none, and a null takes no room.
ALTER TABLE tasks ADD COLUMN queue INTEGER;

-- Only ready tasks wait for a pause or a limit: one that is reset, cancelled or forced has its own lane again.
DROP TRIGGER unpark;
CREATE TRIGGER unpark AFTER UPDATE OF status ON tasks
WHEN NEW.status <> 'ready' AND (NEW.lane > 268435456 OR NEW.lane < -268435456)
BEGIN
    UPDATE tasks SET lane = lane - CASE WHEN lane > 0 THEN 1073741824 ELSE -1073741824 END
    WHERE rowid = NEW.rowid AND abs(lane) > 1073741824;
    UPDATE tasks SET lane = (SELECT CASE WHEN tasks.lane > 0 THEN q.lane ELSE -q.lane END
                             FROM limit_queues AS q WHERE q.id = abs(tasks.lane))
    WHERE rowid = NEW.rowid AND abs(lane) > 536870912 AND EXISTS (SELECT 1 FROM limit_queues AS q WHERE q.id = abs(lane));
    UPDATE tasks SET lane = lane - CASE WHEN lane > 0 THEN 268435456 ELSE -268435456 END
    WHERE rowid = NEW.rowid AND abs(lane) BETWEEN 268435457 AND 536870911;
END;

CREATE TRIGGER limit_end AFTER UPDATE OF status ON tasks
WHEN OLD.queue IS NOT NULL AND (OLD.status = 'running' AND NEW.status <> 'running'
    OR OLD.status = 'ready' AND NEW.status NOT IN ('ready', 'running') AND OLD.lane BETWEEN -268435455 AND 268435455)
BEGIN
    INSERT INTO limit_ended (queue) VALUES (OLD.queue);
    DELETE FROM limit_starts WHERE job_id = OLD.job_id AND stage = OLD.stage AND part = OLD.part AND at IS NULL;
END;

CREATE TRIGGER limit_start AFTER UPDATE OF status ON tasks
WHEN NEW.queue IS NOT NULL AND OLD.status = 'ready' AND NEW.status = 'running'
BEGIN
    UPDATE limit_starts SET at = NEW.claimed_at
    WHERE job_id = NEW.job_id AND stage = NEW.stage AND part = NEW.part AND at IS NULL;
END;

-- A task that becomes ready again arrives again, because its limits may be others now.
CREATE TRIGGER limit_arrive AFTER UPDATE OF status ON tasks
WHEN NEW.status = 'ready' AND OLD.status <> 'ready'
BEGIN
    UPDATE tasks SET queue = NULL
    WHERE rowid = NEW.rowid AND queue IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM limits AS m LEFT JOIN lanes AS l ON l.id = abs(NEW.lane)
                      WHERE m.removed_at IS NULL AND (m.pipeline IS NULL OR m.pipeline = l.pipeline));
    UPDATE tasks SET lane = lane + CASE WHEN lane > 0 THEN 268435456 ELSE -268435456 END
    WHERE rowid = NEW.rowid AND lane BETWEEN -268435455 AND 268435455
      AND EXISTS (SELECT 1 FROM limits AS m LEFT JOIN lanes AS l ON l.id = abs(NEW.lane)
                  WHERE m.removed_at IS NULL AND (m.pipeline IS NULL OR m.pipeline = l.pipeline));
END;
