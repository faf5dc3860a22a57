-- The whole schema, in the order in which data travels: a pipeline is declared, a job is submitted, its stages open, its
-- tasks are claimed by workers, and events, logs, steps and states record what happens. Triggers that guard the tables
-- are generated from the state machines and installed after the migrations.
--
-- Differs from PostgreSQL: instants are REAL unix seconds, JSON and arrays are TEXT, booleans are 0 and 1. A constraint
-- belongs to its table, because SQLite can neither add nor drop one. No STRICT tables: they need SQLite 3.37.
-- There are no foreign keys: the engine writes rows in the right order, and doctor looks for orphans.

-- == The store itself ==

-- The epoch of the event stream, the digest of the guards, the oldest compatible schema.
CREATE TABLE facts (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
);
INSERT INTO facts VALUES ('epoch', lower(hex(randomblob(6))));

-- The last id given out; a sequence in PostgreSQL.
CREATE TABLE ids (
    last INTEGER NOT NULL
);
INSERT INTO ids VALUES (0);

-- While `archiving` has a row, the guards allow rows to be moved; while `repairing` has one, they allow repairs. Archive
-- and doctor insert and delete it within one transaction, so that no other connection sees it. Settings of the session in
-- PostgreSQL.
CREATE TABLE archiving (
    since REAL NOT NULL
);
CREATE TABLE repairing (
    since REAL NOT NULL
);

-- == Pipelines ==

-- One row per version of a pipeline. New jobs run the pinned version, or else the one declared last.
CREATE TABLE pipelines (
    id          INTEGER PRIMARY KEY,
    name        TEXT NOT NULL,
    digest      TEXT NOT NULL,
    graph       TEXT NOT NULL,
    declared_at REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400.0),
    pinned      INTEGER NOT NULL DEFAULT 0,
    UNIQUE (name, digest)
);

-- A lane is a queue of tasks that the same workers may run. Isolated tasks wait in the lane with the negative number.
CREATE TABLE lanes (
    id       INTEGER PRIMARY KEY,
    pipeline TEXT NOT NULL,
    needs    TEXT NOT NULL,
    prefers  TEXT NOT NULL,
    UNIQUE (pipeline, needs, prefers)
);

-- == Jobs ==

-- `request` finds the job of a submission whose answer was lost. `flagged` says why an operator should look at the job.
CREATE TABLE jobs (
    id           INTEGER PRIMARY KEY,
    pipeline_id  INTEGER NOT NULL,
    user_id      TEXT NOT NULL DEFAULT '',
    status       TEXT NOT NULL DEFAULT 'pending',
    phase        TEXT NOT NULL DEFAULT 'processing',
    priority     INTEGER NOT NULL DEFAULT 5,
    version      INTEGER NOT NULL DEFAULT 1,
    actor        TEXT NOT NULL DEFAULT 'sql',
    reason       TEXT,
    run_after    REAL,
    created_at   REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400.0),
    started_at   REAL,
    changed_at   REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400.0),
    finished_at  REAL,
    inconsistent TEXT,
    spec         TEXT NOT NULL DEFAULT '{}',
    error        TEXT,
    degraded     TEXT,
    resource_id  INTEGER,
    request      INTEGER,
    flagged      TEXT,
    flagged_at   REAL,
    CONSTRAINT jobs_state CHECK (CASE
        WHEN status IN ('completed', 'failed', 'quarantined', 'cancelled') THEN finished_at IS NOT NULL
        ELSE finished_at IS NULL AND status IN ('pending', 'processing', 'validating', 'planning', 'downloading_inputs',
            'uploading_outputs') END),
    CONSTRAINT jobs_numbers CHECK (priority >= 0 AND priority <= 10 AND version >= 1
        AND phase IN ('processing', 'validating', 'planning', 'downloading_inputs', 'uploading_outputs'))
);
-- Most jobs are completed: a listing of those walks the primary key, and completing a job touches one index. SQLite uses
-- a partial index only for a query that repeats its condition literally.
CREATE INDEX jobs_by_status ON jobs (status, id) WHERE status <> 'completed';
CREATE INDEX jobs_by_user ON jobs (user_id, id) WHERE user_id <> '';
CREATE INDEX jobs_by_resource ON jobs (resource_id, id) WHERE resource_id IS NOT NULL;
CREATE INDEX jobs_by_resource_finish ON jobs (finished_at) WHERE resource_id IS NOT NULL;
CREATE UNIQUE INDEX jobs_by_request ON jobs (request) WHERE request IS NOT NULL;
-- The keeper looks every second for jobs that stopped recently. The condition on `finished_at`, which all of them have,
-- keeps the index out of the plans of listings, which do not repeat it.
CREATE INDEX jobs_stopped ON jobs (changed_at)
    WHERE status IN ('failed', 'quarantined') AND finished_at IS NOT NULL;
-- The few jobs of a resource without outputs: not completed, or set to completed by an operator.
CREATE INDEX jobs_by_resource_unready ON jobs (resource_id)
    WHERE resource_id IS NOT NULL AND (status <> 'completed' OR reason IS NOT NULL);
CREATE INDEX jobs_flagged ON jobs (id) WHERE flagged IS NOT NULL;

CREATE TABLE idempotency (
    user_id    TEXT NOT NULL,
    key        TEXT NOT NULL,
    digest     TEXT NOT NULL,
    job_id     INTEGER NOT NULL,
    created_at REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400.0),
    PRIMARY KEY (user_id, key)
) WITHOUT ROWID;

-- == Stages ==

-- A row exists once the stage has been opened; `open` is 0 while it waits to be opened again. `sole` marks the only
-- stage of a pipeline: closing it completes the job.
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
    CONSTRAINT stages_counters CHECK (total >= 0 AND done >= 0 AND skipped >= 0
        AND failed >= 0 AND done + skipped + failed <= total)
) WITHOUT ROWID;

-- == Tasks ==

-- `lost` counts lost leases, `lost_alone` those of runs that were alone on their worker. From `isolate_after` losses on
-- the task is isolated; after `max_lost` losses alone it is quarantined. `flag_after` is the time without progress after
-- which the job is flagged (null: the deployment's setting).
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
    isolate_after    INTEGER NOT NULL DEFAULT 2,
    flag_after       REAL,
    -- What each status requires of the lease, `finished_at` and the next run.
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
-- The order of claims, with claimable tasks only.
CREATE INDEX tasks_ready ON tasks (lane, priority DESC, job_id, stage, part) WHERE status = 'ready';
-- Not on the expiry: renewing a lease must not touch an index.
CREATE INDEX tasks_running ON tasks (worker_id, job_id, stage, part) WHERE status = 'running';
CREATE INDEX tasks_due ON tasks (run_after) WHERE run_after IS NOT NULL;
-- Always empty: opening a store finds statuses unknown to this code by a lookup instead of a scan.
CREATE INDEX tasks_unknown ON tasks (status)
    WHERE status NOT IN ('new', 'ready', 'running', 'done', 'error', 'skipped', 'cancelled');
-- The key is an index of its own, so that doctor can restore it once each part has a single task again.
CREATE UNIQUE INDEX tasks_pkey ON tasks (job_id, stage, part);

-- == Events ==

-- There is one writer at a time, so the order of ids is the order of commits; AUTOINCREMENT keeps an id from being given
-- again after an archive. `stage` and `part` are -1 where the event is about the whole job or stage.
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
    CONSTRAINT events_entity CHECK (entity IN ('job', 'stage', 'task', 'worker', 'finding'))
);
CREATE UNIQUE INDEX events_by_entity ON events (job_id, stage, part, version) WHERE job_id IS NOT NULL;
CREATE UNIQUE INDEX events_by_worker ON events (worker_id, version) WHERE entity = 'worker';
-- All findings of a store share one sequence of versions.
CREATE UNIQUE INDEX events_by_finding ON events (version) WHERE entity = 'finding';

-- == Workers ==

-- `stuck` counts the handlers that do not stop.
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
    stuck             INTEGER NOT NULL DEFAULT 0,
    CONSTRAINT workers_status CHECK (status IN ('active', 'draining', 'offline')),
    CONSTRAINT workers_kind CHECK (kind IN ('local', 'remote')),
    CONSTRAINT workers_numbers CHECK (slots >= 1 AND version >= 1)
);
CREATE INDEX workers_by_name ON workers (name);

-- What remains of a worker instance after its row in `workers` is pruned: its name, for the tasks and events that refer
-- to it, and the runs it completed and failed.
CREATE TABLE worker_instances (
    id     INTEGER PRIMARY KEY,
    name   TEXT NOT NULL,
    done   INTEGER NOT NULL DEFAULT 0,
    failed INTEGER NOT NULL DEFAULT 0
);

-- Workers that an operator enabled or disabled, by name.
CREATE TABLE worker_names (
    name       TEXT PRIMARY KEY,
    enabled    INTEGER NOT NULL DEFAULT 1,
    changed_at REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400.0)
);

-- == Logs and steps ==

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

-- Commands and other steps of runs. A run numbers its own steps, so that one reported twice is stored once.
CREATE TABLE steps (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    job_id     INTEGER NOT NULL,
    stage      INTEGER NOT NULL,
    part       INTEGER NOT NULL,
    token      INTEGER NOT NULL,
    number     INTEGER NOT NULL,
    at         REAL NOT NULL,
    argv       TEXT NOT NULL,
    exit_code  INTEGER,
    seconds    REAL NOT NULL,
    output     TEXT NOT NULL,
    type       TEXT NOT NULL DEFAULT 'command',
    started_at REAL
);
CREATE INDEX steps_by_job ON steps (job_id, id);
CREATE UNIQUE INDEX steps_by_run ON steps (job_id, stage, part, token, number);

-- == States that tasks publish ==

-- A state job is any name with a number of tasks; for a stage of a job it is `job.stage`. A deleted one stays as a
-- tombstone, so that the next of its name gets another generation. The log before the floor has been deleted: an older
-- cursor is reported as expired.
CREATE TABLE state_jobs (
    job_id     TEXT PRIMARY KEY,
    tasks      INTEGER NOT NULL CONSTRAINT state_jobs_tasks CHECK (tasks > 0),
    tags       TEXT NOT NULL DEFAULT '[]',
    generation INTEGER NOT NULL DEFAULT 1,
    created_at REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400.0),
    deleted_at REAL,
    floor_id   INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

-- The newest version of each state.
CREATE TABLE states (
    job_id         TEXT NOT NULL,
    generation     INTEGER NOT NULL,
    task           INTEGER NOT NULL,
    tag            TEXT NOT NULL,
    status         INTEGER NOT NULL,
    severity       TEXT NOT NULL CONSTRAINT states_severity CHECK (severity IN ('info', 'warning', 'error')),
    message        TEXT NOT NULL,
    payload        TEXT,
    schema_version INTEGER NOT NULL,
    version        INTEGER NOT NULL,
    event_id       TEXT NOT NULL,
    at             REAL NOT NULL,
    PRIMARY KEY (job_id, task, tag)
) WITHOUT ROWID;

-- Every version of each state. Ids come from those of events, so that one cursor covers both.
CREATE TABLE state_log (
    id             INTEGER PRIMARY KEY,
    job_id         TEXT NOT NULL,
    generation     INTEGER NOT NULL,
    task           INTEGER NOT NULL,
    tag            TEXT NOT NULL,
    status         INTEGER NOT NULL,
    severity       TEXT NOT NULL,
    message        TEXT NOT NULL,
    payload        TEXT,
    schema_version INTEGER NOT NULL,
    version        INTEGER NOT NULL,
    event_id       TEXT NOT NULL,
    at             REAL NOT NULL
);
CREATE INDEX state_log_by_job ON state_log (job_id, generation, id);
CREATE UNIQUE INDEX state_log_by_version ON state_log (job_id, generation, task, tag, version);
CREATE UNIQUE INDEX state_log_by_event ON state_log (job_id, generation, task, tag, event_id);

-- == Keeper ==

-- One row that all keepers share: the leader and its term, the last sign of any keeper, the last complete sweep, and the
-- grace period that follows a time without keepers: leases that expired since `gap_since` are extended. `findings` is the
-- version of the last event about a finding.
CREATE TABLE keeper (
    singleton        INTEGER PRIMARY KEY DEFAULT 1 CHECK (singleton = 1),
    leader           TEXT,
    lead_renewed_at  REAL,
    lead_seconds     REAL NOT NULL DEFAULT 0,
    seen_at          REAL,
    swept_at         REAL,
    grace_started_at REAL,
    grace_until      REAL,
    grace_seconds    REAL NOT NULL DEFAULT 0,
    findings         INTEGER NOT NULL DEFAULT 0,
    gap_since        REAL
);
INSERT INTO keeper DEFAULT VALUES;

-- What the quick checks find at present. Events record when a finding appears and when it is gone.
CREATE TABLE findings (
    name     TEXT NOT NULL,
    job_id   INTEGER NOT NULL,
    stage    INTEGER NOT NULL,
    part     INTEGER NOT NULL,
    subject  TEXT NOT NULL,
    found_at REAL NOT NULL,
    PRIMARY KEY (name, job_id, stage, part, subject)
) WITHOUT ROWID;

-- == Access over HTTP ==

-- API keys, dashboard sessions opened with one, and codes that can be exchanged once for such a session. Secrets are shown
-- once and not stored: `digest` can only be compared with.
CREATE TABLE keys (
    id         TEXT PRIMARY KEY,
    kind       TEXT NOT NULL CONSTRAINT keys_kind CHECK (kind IN ('key', 'session', 'code')),
    name       TEXT NOT NULL,
    user_id    TEXT NOT NULL DEFAULT '',
    scopes     TEXT NOT NULL,
    digest     TEXT NOT NULL,
    parent     TEXT,
    actor      TEXT NOT NULL DEFAULT 'sql',
    created_at REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400.0),
    expires_at REAL,
    revoked_at REAL,
    used_at    REAL
) WITHOUT ROWID;
CREATE INDEX keys_by_name ON keys (name) WHERE kind = 'key';

-- Secrets with which the servers sign the permits of remote workers. Each is created on first use.
CREATE TABLE secrets (
    name       TEXT PRIMARY KEY,
    secret     TEXT NOT NULL,
    created_at REAL NOT NULL
) WITHOUT ROWID;

-- == Video library ==

-- A version of a video is a job with its id as `resource_id`, so the status of a video is read from its versions. `pinned` is the
-- version an operator went back to, `published` the version at the public address: written after the files are, so that
-- an interrupted publication is repeated.
CREATE TABLE videos (
    id         INTEGER PRIMARY KEY,
    title      TEXT NOT NULL,
    source     TEXT NOT NULL,
    user_id    TEXT NOT NULL DEFAULT '',
    pinned     INTEGER,
    version    INTEGER NOT NULL DEFAULT 1,
    actor      TEXT NOT NULL DEFAULT 'sql',
    reason     TEXT,
    created_at REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400.0),
    changed_at REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400.0),
    deleted_at REAL,
    published  INTEGER
);
CREATE INDEX videos_by_user ON videos (user_id, id) WHERE user_id <> '';
CREATE INDEX videos_by_change ON videos (changed_at);
-- Uploaded sources can't be fetched again from elsewhere.
CREATE INDEX videos_stored ON videos (source) WHERE deleted_at IS NULL AND substr(source, 1, 9) = 'stored://';

-- Versions that can't be played or pinned any more. Their files are deleted after the row is written and `swept_at` is set
-- after that: an interrupted deletion leaves a row that names what is still to be deleted.
CREATE TABLE removed_versions (
    job_id     INTEGER PRIMARY KEY,
    video_id   INTEGER NOT NULL,
    removed_at REAL NOT NULL,
    swept_at   REAL
);
CREATE INDEX removed_versions_unswept ON removed_versions (job_id) WHERE swept_at IS NULL;

-- Uploads of source videos. Only the first `received` bytes of the file on the server's disk count. `digest` is the sha256
-- that the client announced, `sha256` that of the complete file. Finished uploads count towards a user's quota too.
CREATE TABLE uploads (
    id         TEXT PRIMARY KEY,
    user_id    TEXT NOT NULL DEFAULT '',
    name       TEXT NOT NULL DEFAULT '',
    length     INTEGER,
    received   INTEGER NOT NULL DEFAULT 0,
    digest     TEXT,
    sha256     TEXT,
    created_at REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400.0),
    expires_at REAL NOT NULL,
    CONSTRAINT uploads_received CHECK (received >= 0 AND (length IS NULL OR received <= length)),
    CONSTRAINT uploads_whole CHECK (sha256 IS NULL OR length IS NOT NULL AND received = length)
) WITHOUT ROWID;
CREATE INDEX uploads_by_user ON uploads (user_id);
CREATE INDEX uploads_by_expiry ON uploads (expires_at);

-- Tickets let a player fetch the files of one video for a while. They are shown once: only their digest is stored.
CREATE TABLE tickets (
    digest     TEXT PRIMARY KEY,
    video_id   INTEGER NOT NULL,
    key_id     TEXT NOT NULL,
    created_at REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400.0),
    expires_at REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX tickets_by_expiry ON tickets (expires_at);
