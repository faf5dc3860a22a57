-- What keepers know of each other, in one row: who leads, when one of them was last here, when a sweep last went
-- through, and the grace that follows when all of them were away. `findings` counts the events of findings.
CREATE TABLE keeper (
    one          INTEGER PRIMARY KEY DEFAULT 1 CHECK (one = 1),
    leader       TEXT,
    led_at       REAL,
    lead_seconds REAL NOT NULL DEFAULT 0,
    seen_at      REAL,
    swept_at     REAL,
    graced_at    REAL,
    grace_until  REAL,
    granted      REAL NOT NULL DEFAULT 0,
    findings     INTEGER NOT NULL DEFAULT 0
);
INSERT INTO keeper DEFAULT VALUES;

-- What the quick checks found and find still. An event tells when one comes and when it is gone.
CREATE TABLE findings (
    name     TEXT NOT NULL,
    job_id   INTEGER NOT NULL,
    stage    INTEGER NOT NULL,
    part     INTEGER NOT NULL,
    subject  TEXT NOT NULL,
    found_at REAL NOT NULL,
    PRIMARY KEY (name, job_id, stage, part, subject)
) WITHOUT ROWID;

-- All findings of a store are told in one sequence of versions. A table's constraint can't be changed here, so the
-- events move to a new table, and the last id given out with them. The guards are away meanwhile.
CREATE TABLE events_next (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    entity    TEXT NOT NULL,
    job_id    INTEGER,
    stage     INTEGER NOT NULL DEFAULT -1,
    part      INTEGER NOT NULL DEFAULT -1,
    worker_id INTEGER,
    version   INTEGER NOT NULL,
    token     INTEGER,
    at        REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400.0),
    origin    TEXT,
    target    TEXT NOT NULL,
    actor     TEXT NOT NULL,
    reason    TEXT,
    data      TEXT,
    CONSTRAINT events_entity CHECK (entity IN ('job', 'stage', 'task', 'worker', 'finding'))
);
INSERT INTO events_next (id, entity, job_id, stage, part, worker_id, version, token, at, origin, target, actor, reason,
    data)
SELECT id, entity, job_id, stage, part, worker_id, version, token, at, origin, target, actor, reason, data FROM events
ORDER BY id;
DELETE FROM sqlite_sequence WHERE name = 'events_next';
INSERT INTO sqlite_sequence (name, seq) SELECT 'events_next', seq FROM sqlite_sequence WHERE name = 'events';
DROP TABLE events;
ALTER TABLE events_next RENAME TO events;
CREATE UNIQUE INDEX events_by_entity ON events (job_id, stage, part, version) WHERE job_id IS NOT NULL;
CREATE UNIQUE INDEX events_by_worker ON events (worker_id, version) WHERE entity = 'worker';
CREATE UNIQUE INDEX events_by_finding ON events (version) WHERE entity = 'finding';
