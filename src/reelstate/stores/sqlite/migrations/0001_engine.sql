-- The engine's tables. Guards (triggers) are generated from the machines and installed after the migrations.
-- Instants are REAL unix seconds, JSON and arrays are TEXT, booleans are 0 and 1. No STRICT tables: they need 3.37.
-- A constraint is part of its table here: SQLite can neither add one later nor drop it.

-- The last id given out. PostgreSQL has a sequence for this.
CREATE TABLE ids (
    last INTEGER NOT NULL
);
INSERT INTO ids VALUES (0);

-- What the store says of itself: the epoch of its event stream, the digest of its guards.
CREATE TABLE facts (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
);
INSERT INTO facts VALUES ('epoch', lower(hex(randomblob(6))));

CREATE TABLE pipelines (
    id          INTEGER PRIMARY KEY,
    name        TEXT NOT NULL,
    digest      TEXT NOT NULL,
    graph       TEXT NOT NULL,
    declared_at REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400.0),
    UNIQUE (name, digest)
);

CREATE TABLE lanes (
    id       INTEGER PRIMARY KEY,
    pipeline TEXT NOT NULL,
    needs    TEXT NOT NULL,
    prefers  TEXT NOT NULL,
    UNIQUE (pipeline, needs, prefers)
);

CREATE TABLE jobs (
    id          INTEGER PRIMARY KEY,
    pipeline_id INTEGER NOT NULL,
    user_id     TEXT NOT NULL DEFAULT '',
    status      TEXT NOT NULL DEFAULT 'pending',
    phase       TEXT NOT NULL DEFAULT 'processing',
    priority    INTEGER NOT NULL DEFAULT 5,
    version     INTEGER NOT NULL DEFAULT 1,
    actor       TEXT NOT NULL DEFAULT 'sql',
    reason      TEXT,
    run_after   REAL,
    created_at  REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400.0),
    started_at  REAL,
    changed_at  REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400.0),
    finished_at REAL,
    suspect     TEXT,
    spec        TEXT NOT NULL DEFAULT '{}',
    error       TEXT,
    degraded    TEXT,
    CONSTRAINT jobs_state CHECK (CASE
        WHEN status IN ('completed', 'failed', 'quarantined', 'cancelled') THEN finished_at IS NOT NULL
        ELSE finished_at IS NULL AND status IN ('pending', 'processing', 'validating', 'planning',
            'downloading_inputs', 'uploading_outputs') END),
    CONSTRAINT jobs_numbers CHECK (priority >= 0 AND priority <= 10 AND version >= 1
        AND phase IN ('processing', 'validating', 'planning', 'downloading_inputs', 'uploading_outputs'))
);
-- SQLite uses a partial index only where the query repeats its condition, word for word.
CREATE INDEX jobs_by_status ON jobs (status, id) WHERE status <> 'completed';
CREATE INDEX jobs_by_user ON jobs (user_id, id) WHERE user_id <> '';

CREATE TABLE idempotency (
    user_id    TEXT NOT NULL,
    key        TEXT NOT NULL,
    digest     TEXT NOT NULL,
    job_id     INTEGER NOT NULL,
    created_at REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400.0),
    PRIMARY KEY (user_id, key)
) WITHOUT ROWID;

-- A row stands for a stage that has been opened at least once; `open` is 0 while it waits to be opened again.
-- `sole` marks the one stage of a pipeline that has no other: closing it completes the job.
CREATE TABLE stages (
    job_id    INTEGER NOT NULL,
    stage     INTEGER NOT NULL,
    open      INTEGER NOT NULL DEFAULT 1,
    sole      INTEGER NOT NULL DEFAULT 0,
    version   INTEGER NOT NULL DEFAULT 1,
    total     INTEGER NOT NULL,
    done      INTEGER NOT NULL DEFAULT 0,
    skipped   INTEGER NOT NULL DEFAULT 0,
    failed    INTEGER NOT NULL DEFAULT 0,
    opened_at REAL NOT NULL,
    PRIMARY KEY (job_id, stage),
    CONSTRAINT stages_counters CHECK (total >= 0 AND done >= 0 AND skipped >= 0 AND failed >= 0
        AND done + skipped + failed <= total)
) WITHOUT ROWID;

CREATE TABLE tasks (
    job_id           INTEGER NOT NULL,
    stage            INTEGER NOT NULL,
    part             INTEGER NOT NULL,
    lane             INTEGER NOT NULL,
    status           TEXT NOT NULL DEFAULT 'new',
    priority         INTEGER NOT NULL DEFAULT 5,
    version          INTEGER NOT NULL DEFAULT 1,
    attempt          INTEGER NOT NULL DEFAULT 0,
    max_attempts     INTEGER NOT NULL DEFAULT 3,
    lost             INTEGER NOT NULL DEFAULT 0,
    lost_alone       INTEGER NOT NULL DEFAULT 0,
    max_lost         INTEGER NOT NULL DEFAULT 3,
    alone            INTEGER NOT NULL DEFAULT 0,
    token            INTEGER NOT NULL DEFAULT 0,
    worker_id        INTEGER,
    last_worker      INTEGER,
    lease            REAL NOT NULL DEFAULT 60,
    stall_after      REAL,
    timeout          REAL,
    percent          REAL NOT NULL DEFAULT 0,
    lease_expires_at REAL,
    run_after        REAL,
    ready_at         REAL,
    claimed_at       REAL,
    started_at       REAL,
    progress_at      REAL,
    finished_at      REAL,
    changed_at       REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400.0),
    actor            TEXT NOT NULL DEFAULT 'sql',
    reason           TEXT,
    step             TEXT,
    message          TEXT,
    input            TEXT,
    checkpoint       TEXT,
    result           TEXT,
    error            TEXT,
    -- What each status demands of the lease, the end and the next run.
    CONSTRAINT tasks_state CHECK (CASE status
        WHEN 'ready' THEN worker_id IS NULL AND lease_expires_at IS NULL AND finished_at IS NULL
            AND run_after IS NULL AND ready_at IS NOT NULL
        WHEN 'running' THEN worker_id IS NOT NULL AND lease_expires_at IS NOT NULL AND finished_at IS NULL
            AND run_after IS NULL
        WHEN 'error' THEN worker_id IS NULL AND lease_expires_at IS NULL
            AND (finished_at IS NULL) = (run_after IS NOT NULL)
        WHEN 'new' THEN worker_id IS NULL AND lease_expires_at IS NULL AND finished_at IS NULL
        ELSE status IN ('done', 'skipped', 'cancelled') AND worker_id IS NULL AND lease_expires_at IS NULL
            AND finished_at IS NOT NULL AND run_after IS NULL END),
    CONSTRAINT tasks_numbers CHECK (attempt >= 0 AND attempt <= max_attempts AND lost_alone >= 0 AND lost_alone <= lost
        AND part >= 0 AND stage >= 0 AND priority >= 0 AND priority <= 10 AND version >= 1 AND token >= 0
        AND percent >= 0 AND percent <= 100 AND lane <> 0)
);
-- The claim's order, and nothing but what can be claimed. A suspect waits in the mirror of its lane (-lane).
CREATE INDEX tasks_ready ON tasks (lane, priority DESC, job_id, stage, part) WHERE status = 'ready';
-- Not on the expiry: a renewal must not touch an index.
CREATE INDEX tasks_running ON tasks (worker_id, job_id, stage, part) WHERE status = 'running';
CREATE INDEX tasks_due ON tasks (run_after) WHERE run_after IS NOT NULL;
-- Always empty: it lets a store be opened with a look, not a scan, for statuses that this code does not know.
CREATE INDEX tasks_unknown ON tasks (status)
    WHERE status NOT IN ('new', 'ready', 'running', 'done', 'error', 'skipped', 'cancelled');

CREATE TABLE worker_names (
    name       TEXT PRIMARY KEY,
    enabled    INTEGER NOT NULL DEFAULT 1,
    changed_at REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400.0)
);

CREATE TABLE workers (
    id                INTEGER PRIMARY KEY,
    name              TEXT NOT NULL,
    hostname          TEXT NOT NULL,
    software          TEXT NOT NULL,
    kind              TEXT NOT NULL DEFAULT 'local',
    slots             INTEGER NOT NULL DEFAULT 1,
    capabilities      TEXT NOT NULL DEFAULT '[]',
    pipelines         TEXT NOT NULL DEFAULT '[]',
    metadata          TEXT,
    status            TEXT NOT NULL DEFAULT 'active',
    version           INTEGER NOT NULL DEFAULT 1,
    actor             TEXT NOT NULL DEFAULT 'sql',
    reason            TEXT,
    changed_at        REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400.0),
    registered_at     REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400.0),
    last_heartbeat_at REAL,
    CONSTRAINT workers_status CHECK (status IN ('active', 'draining', 'offline')),
    CONSTRAINT workers_kind CHECK (kind IN ('local', 'remote')),
    CONSTRAINT workers_numbers CHECK (slots >= 1 AND version >= 1)
);
CREATE INDEX workers_by_name ON workers (name);

-- The record. There is one writer at a time, so the order of ids is the order of commits and no `xid` is needed;
-- AUTOINCREMENT keeps an id from being given again after an archive.
-- `stage` and `part` are -1 where the event is about the job (or the stage) as a whole.
CREATE TABLE events (
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
    CONSTRAINT events_entity CHECK (entity IN ('job', 'stage', 'task', 'worker'))
);
CREATE UNIQUE INDEX events_by_entity ON events (job_id, stage, part, version) WHERE job_id IS NOT NULL;
CREATE UNIQUE INDEX events_by_worker ON events (worker_id, version) WHERE entity = 'worker';

-- While `archiving` has a row the guards let rows be moved; while `repairing` has one they stand aside. Archive and
-- doctor put it in and take it out within one transaction, so that nobody else ever sees it.
CREATE TABLE archiving (
    since REAL NOT NULL
);
CREATE TABLE repairing (
    since REAL NOT NULL
);

CREATE TABLE logs (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    job_id   INTEGER NOT NULL,
    stage    INTEGER NOT NULL,
    part     INTEGER NOT NULL,
    token    INTEGER NOT NULL,
    at       REAL NOT NULL,
    level    TEXT NOT NULL,
    message  TEXT NOT NULL,
    metadata TEXT
);
CREATE INDEX logs_by_job ON logs (job_id, id);
