CREATE TABLE alert_cooldowns (
    type    TEXT NOT NULL,
    subject TEXT NOT NULL,
    sent_at REAL NOT NULL,
    PRIMARY KEY (type, subject)
);

CREATE TABLE alerts (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    type      TEXT NOT NULL,
    subject   TEXT NOT NULL,
    message   TEXT NOT NULL,
    job_id    INTEGER,
    at        REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400.0),
    folded_at REAL
);

CREATE INDEX alerts_by_age ON alerts (at);

CREATE INDEX alerts_unsent ON alerts (type, subject) WHERE folded_at IS NULL;

CREATE TABLE archiving (
    since REAL NOT NULL
);

CREATE TABLE callbacks (
    job_id     INTEGER PRIMARY KEY,
    webhook_id TEXT NOT NULL,
    url        TEXT NOT NULL,
    lane       TEXT NOT NULL,
    created_at REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400.0)
);

CREATE TABLE deliveries (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    webhook_id  TEXT NOT NULL,
    lane        TEXT NOT NULL,
    url         TEXT,
    type        TEXT NOT NULL,
    job_id      INTEGER,
    once        TEXT,
    data        TEXT NOT NULL,
    status      TEXT NOT NULL DEFAULT 'pending'
        CONSTRAINT deliveries_status CHECK (status IN ('pending', 'delivered', 'failed')),
    attempt     INTEGER NOT NULL DEFAULT 0,
    token       INTEGER NOT NULL DEFAULT 0,
    leased      INTEGER NOT NULL DEFAULT 0 CONSTRAINT deliveries_leased CHECK (NOT leased OR status = 'pending'),
    created_at  REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400.0),
    next_at     REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400.0),
    finished_at REAL
);

CREATE INDEX deliveries_busy ON deliveries (lane) WHERE leased;

CREATE INDEX deliveries_by_age ON deliveries (created_at);

CREATE INDEX deliveries_by_webhook ON deliveries (webhook_id, id);

CREATE INDEX deliveries_due ON deliveries (lane, next_at) WHERE status = 'pending';

CREATE UNIQUE INDEX deliveries_once ON deliveries (webhook_id, once) WHERE once IS NOT NULL;

CREATE TABLE delivery_attempts (
    delivery_id INTEGER NOT NULL,
    token       INTEGER NOT NULL,
    at          REAL NOT NULL,
    seconds     REAL NOT NULL,
    status      INTEGER,
    failure     TEXT,
    response    TEXT,
    PRIMARY KEY (delivery_id, token)
);

CREATE TABLE dependencies (
    job_id INTEGER NOT NULL,
    kind   TEXT NOT NULL CONSTRAINT dependencies_kind CHECK (kind IN ('job', 'group')),
    target INTEGER NOT NULL,
    PRIMARY KEY (job_id, kind, target)
);

CREATE INDEX dependencies_by_target ON dependencies (kind, target, job_id);

CREATE TABLE ended_jobs (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    job_id   INTEGER NOT NULL,
    active   INTEGER NOT NULL DEFAULT 0,
    position INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE event_types (
    name      TEXT NOT NULL,
    origin    TEXT NOT NULL DEFAULT '',
    target    TEXT NOT NULL,
    resources INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (name, origin, target)
);

CREATE TABLE "events" (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    entity      TEXT NOT NULL,
    job_id      INTEGER,
    stage       INTEGER NOT NULL DEFAULT -1,
    part        INTEGER NOT NULL DEFAULT -1,
    worker_id   INTEGER,
    version     INTEGER NOT NULL,
    token       INTEGER,
    at          REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400.0),
    origin      TEXT,
    target      TEXT NOT NULL,
    actor       TEXT NOT NULL,
    reason      TEXT,
    data        TEXT,
    job_version INTEGER,
    job_origin  TEXT,
    job_target  TEXT,
    CONSTRAINT events_entity
        CHECK (entity IN ('job', 'stage', 'task', 'worker', 'finding', 'task+job', 'job+stage'))
);

CREATE UNIQUE INDEX events_by_entity ON events (job_id, stage, part, version) WHERE job_id IS NOT NULL;

CREATE UNIQUE INDEX events_by_finding ON events (version) WHERE entity = 'finding';

CREATE INDEX events_by_job ON events (job_id, id) WHERE part >= 1000;

CREATE UNIQUE INDEX events_by_worker ON events (worker_id, version) WHERE entity = 'worker';

CREATE TRIGGER guard_events_delete BEFORE DELETE ON events WHEN NOT EXISTS (SELECT 1 FROM archiving)
BEGIN
    SELECT RAISE(ABORT, 'reelstate: events are never deleted; only archive moves old ones');
END;

CREATE TRIGGER guard_events_insert BEFORE INSERT ON events
WHEN NEW.id > 0 AND NEW.id <= (SELECT max(id) FROM events)
  OR EXISTS (SELECT 1 FROM events WHERE job_id = NEW.job_id AND stage = NEW.stage AND part = NEW.part
             AND version = NEW.version)
  OR NEW.entity = 'worker'
     AND EXISTS (SELECT 1 FROM events WHERE entity = 'worker' AND worker_id = NEW.worker_id
                 AND version = NEW.version)
  OR NEW.at >= ''
  OR NEW.entity = 'finding' AND EXISTS (SELECT 1 FROM events WHERE entity = 'finding' AND version = NEW.version)
BEGIN
    SELECT RAISE(ABORT, 'reelstate: events are only ever added');
END;

CREATE TRIGGER guard_events_update BEFORE UPDATE ON events WHEN NOT EXISTS (SELECT 1 FROM archiving)
BEGIN
    SELECT RAISE(ABORT, 'reelstate: events are never changed; only archive moves old ones');
END;

CREATE TABLE facts (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
);

CREATE TABLE findings (
    name     TEXT NOT NULL,
    job_id   INTEGER NOT NULL,
    stage    INTEGER NOT NULL,
    part     INTEGER NOT NULL,
    subject  TEXT NOT NULL,
    found_at REAL NOT NULL,
    PRIMARY KEY (name, job_id, stage, part, subject)
) WITHOUT ROWID;

CREATE TABLE group_jobs (
    job_id   INTEGER PRIMARY KEY,
    group_id INTEGER NOT NULL,
    outcome  TEXT CONSTRAINT group_jobs_outcome
        CHECK (outcome IS NULL OR outcome IN ('completed', 'failed', 'quarantined', 'cancelled'))
);

CREATE INDEX group_jobs_by_group ON group_jobs (group_id, job_id);

CREATE INDEX group_jobs_by_outcome ON group_jobs (group_id, outcome);

CREATE TABLE groups (
    id           INTEGER PRIMARY KEY,
    user_id      TEXT NOT NULL DEFAULT '',
    name         TEXT NOT NULL,
    jobs         INTEGER NOT NULL DEFAULT 0,
    round        INTEGER NOT NULL DEFAULT 1,
    callback_id  TEXT,
    callback_url TEXT,
    callback_lane TEXT,
    created_at   REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400.0),
    finished_at  REAL,
    CONSTRAINT groups_name UNIQUE (user_id, name)
);

CREATE INDEX groups_by_name ON groups (name);

CREATE VIEW history AS
SELECT e.id - CASE WHEN half.n = 0 AND e.entity IN ('task+job', 'job+stage') THEN 1 ELSE 0 END AS id,
       CASE e.entity WHEN 'task+job' THEN CASE half.n WHEN 0 THEN 'task' ELSE 'job' END
                     WHEN 'job+stage' THEN CASE half.n WHEN 0 THEN 'job' ELSE 'stage' END
                     ELSE e.entity END AS entity,
       e.job_id,
       CASE WHEN half.n = 0 THEN e.stage WHEN e.entity = 'job+stage' THEN 0 ELSE -1 END AS stage,
       CASE WHEN half.n = 0 THEN e.part ELSE -1 END AS part,
       CASE WHEN half.n = 0 THEN e.worker_id END AS worker_id,
       CASE WHEN half.n = 0 THEN e.version WHEN e.entity = 'job+stage' THEN 1 ELSE e.job_version END AS version,
       CASE WHEN half.n = 0 THEN e.token END AS token,
       e.at,
       CASE WHEN half.n = 0 THEN e.origin ELSE e.job_origin END AS origin,
       CASE WHEN half.n = 0 THEN e.target WHEN e.entity = 'job+stage' THEN 'opened' ELSE e.job_target END AS target,
       CASE WHEN half.n = 1 AND (e.entity = 'job+stage' OR e.job_target = 'completed') THEN 'orchestrator'
            ELSE e.actor END AS actor,
       CASE WHEN half.n = 0 THEN e.reason END AS reason,
       CASE WHEN half.n = 0 THEN e.data WHEN e.entity = 'job+stage' THEN '{"total": 1}' END AS data
FROM events AS e
JOIN (SELECT 0 AS n UNION ALL SELECT 1) AS half ON half.n = 0 OR e.entity IN ('task+job', 'job+stage');

CREATE TABLE idempotency (
    user_id    TEXT NOT NULL,
    key        TEXT NOT NULL,
    digest     TEXT NOT NULL,
    job_id     INTEGER NOT NULL,
    created_at REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400.0),
    PRIMARY KEY (user_id, key)
) WITHOUT ROWID;

CREATE INDEX idempotency_by_time ON idempotency (created_at);

CREATE TABLE ids (
    last INTEGER NOT NULL
);

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
    flagged_at   REAL, trace TEXT,
    CONSTRAINT jobs_state CHECK (CASE
        WHEN status IN ('completed', 'failed', 'quarantined', 'cancelled') THEN finished_at IS NOT NULL
        ELSE finished_at IS NULL AND status IN ('pending', 'processing', 'validating', 'planning', 'downloading_inputs',
            'uploading_outputs') END),
    CONSTRAINT jobs_numbers CHECK (priority >= 0 AND priority <= 10 AND version >= 1
        AND phase IN ('processing', 'validating', 'planning', 'downloading_inputs', 'uploading_outputs'))
);

CREATE UNIQUE INDEX jobs_by_request ON jobs (request) WHERE request IS NOT NULL;

CREATE INDEX jobs_by_resource ON jobs (resource_id, id) WHERE resource_id IS NOT NULL;

CREATE INDEX jobs_by_resource_finish ON jobs (finished_at) WHERE resource_id IS NOT NULL;

CREATE INDEX jobs_by_resource_unready ON jobs (resource_id)
    WHERE resource_id IS NOT NULL AND (status <> 'completed' OR reason IS NOT NULL);

CREATE INDEX jobs_by_status ON jobs (status, id) WHERE status <> 'completed';

CREATE INDEX jobs_by_user ON jobs (user_id, id) WHERE user_id <> '';

CREATE INDEX jobs_flagged ON jobs (id) WHERE flagged IS NOT NULL;

CREATE INDEX jobs_stopped ON jobs (changed_at)
    WHERE status IN ('failed', 'quarantined') AND finished_at IS NOT NULL;

CREATE TRIGGER guard_jobs_change AFTER UPDATE OF status, version ON jobs
WHEN (NEW.version <> OLD.version AND (NEW.actor <> 'sql' OR NEW.status <> OLD.status
      OR NOT EXISTS (SELECT 1 FROM events WHERE job_id = NEW.id AND stage = -1 AND part = -1 AND version = NEW.version))
      OR NEW.version NOT IN (OLD.version, OLD.version + 1))
 AND NOT EXISTS (SELECT 1 FROM repairing)
BEGIN
    SELECT CASE WHEN NEW.version NOT IN (OLD.version, OLD.version + 1)
        THEN RAISE(ABORT, 'reelstate: job: version grows by one, and token and attempt never go back')
        ELSE CASE OLD.status
        WHEN 'pending' THEN CASE NEW.status
            WHEN 'validating' THEN CASE WHEN NOT (NEW.actor = 'worker' OR substr(NEW.actor, 1, 7) = 'worker:') THEN RAISE(ABORT, 'reelstate: job: pending -> validating is only allowed for worker') END
            WHEN 'planning' THEN CASE WHEN NOT (NEW.actor = 'worker' OR substr(NEW.actor, 1, 7) = 'worker:') THEN RAISE(ABORT, 'reelstate: job: pending -> planning is only allowed for worker') END
            WHEN 'downloading_inputs' THEN CASE WHEN NOT (NEW.actor = 'worker' OR substr(NEW.actor, 1, 7) = 'worker:') THEN RAISE(ABORT, 'reelstate: job: pending -> downloading_inputs is only allowed for worker') END
            WHEN 'processing' THEN CASE WHEN NOT (NEW.actor = 'worker' OR substr(NEW.actor, 1, 7) = 'worker:') THEN RAISE(ABORT, 'reelstate: job: pending -> processing is only allowed for worker') END
            WHEN 'uploading_outputs' THEN CASE WHEN NOT (NEW.actor = 'worker' OR substr(NEW.actor, 1, 7) = 'worker:') THEN RAISE(ABORT, 'reelstate: job: pending -> uploading_outputs is only allowed for worker') END
            WHEN 'completed' THEN CASE WHEN NOT (NEW.actor = 'operator' OR substr(NEW.actor, 1, 9) = 'operator:' OR NEW.actor = 'orchestrator' OR substr(NEW.actor, 1, 13) = 'orchestrator:') THEN RAISE(ABORT, 'reelstate: job: pending -> completed is only allowed for operator, orchestrator') END
            WHEN 'failed' THEN CASE WHEN NOT (NEW.actor = 'keeper' OR substr(NEW.actor, 1, 7) = 'keeper:' OR NEW.actor = 'operator' OR substr(NEW.actor, 1, 9) = 'operator:' OR NEW.actor = 'orchestrator' OR substr(NEW.actor, 1, 13) = 'orchestrator:') THEN RAISE(ABORT, 'reelstate: job: pending -> failed is only allowed for keeper, operator, orchestrator') END
            WHEN 'quarantined' THEN CASE WHEN NOT (NEW.actor = 'doctor' OR substr(NEW.actor, 1, 7) = 'doctor:' OR NEW.actor = 'keeper' OR substr(NEW.actor, 1, 7) = 'keeper:' OR NEW.actor = 'operator' OR substr(NEW.actor, 1, 9) = 'operator:') THEN RAISE(ABORT, 'reelstate: job: pending -> quarantined is only allowed for doctor, keeper, operator') END
            WHEN 'cancelled' THEN CASE WHEN NOT (NEW.actor = 'operator' OR substr(NEW.actor, 1, 9) = 'operator:' OR NEW.actor = 'orchestrator' OR substr(NEW.actor, 1, 13) = 'orchestrator:' OR NEW.actor = 'user' OR substr(NEW.actor, 1, 5) = 'user:') THEN RAISE(ABORT, 'reelstate: job: pending -> cancelled is only allowed for operator, orchestrator, user') END END
        WHEN 'validating' THEN CASE NEW.status
            WHEN 'pending' THEN CASE WHEN NOT (NEW.actor = 'operator' OR substr(NEW.actor, 1, 9) = 'operator:') THEN RAISE(ABORT, 'reelstate: job: validating -> pending is only allowed for operator') END
            WHEN 'planning' THEN CASE WHEN NOT (NEW.actor = 'orchestrator' OR substr(NEW.actor, 1, 13) = 'orchestrator:') THEN RAISE(ABORT, 'reelstate: job: validating -> planning is only allowed for orchestrator') END
            WHEN 'downloading_inputs' THEN CASE WHEN NOT (NEW.actor = 'orchestrator' OR substr(NEW.actor, 1, 13) = 'orchestrator:') THEN RAISE(ABORT, 'reelstate: job: validating -> downloading_inputs is only allowed for orchestrator') END
            WHEN 'processing' THEN CASE WHEN NOT (NEW.actor = 'orchestrator' OR substr(NEW.actor, 1, 13) = 'orchestrator:') THEN RAISE(ABORT, 'reelstate: job: validating -> processing is only allowed for orchestrator') END
            WHEN 'uploading_outputs' THEN CASE WHEN NOT (NEW.actor = 'orchestrator' OR substr(NEW.actor, 1, 13) = 'orchestrator:') THEN RAISE(ABORT, 'reelstate: job: validating -> uploading_outputs is only allowed for orchestrator') END
            WHEN 'completed' THEN CASE WHEN NOT (NEW.actor = 'operator' OR substr(NEW.actor, 1, 9) = 'operator:' OR NEW.actor = 'orchestrator' OR substr(NEW.actor, 1, 13) = 'orchestrator:') THEN RAISE(ABORT, 'reelstate: job: validating -> completed is only allowed for operator, orchestrator') END
            WHEN 'failed' THEN CASE WHEN NOT (NEW.actor = 'keeper' OR substr(NEW.actor, 1, 7) = 'keeper:' OR NEW.actor = 'operator' OR substr(NEW.actor, 1, 9) = 'operator:' OR NEW.actor = 'orchestrator' OR substr(NEW.actor, 1, 13) = 'orchestrator:') THEN RAISE(ABORT, 'reelstate: job: validating -> failed is only allowed for keeper, operator, orchestrator') END
            WHEN 'quarantined' THEN CASE WHEN NOT (NEW.actor = 'doctor' OR substr(NEW.actor, 1, 7) = 'doctor:' OR NEW.actor = 'keeper' OR substr(NEW.actor, 1, 7) = 'keeper:' OR NEW.actor = 'operator' OR substr(NEW.actor, 1, 9) = 'operator:') THEN RAISE(ABORT, 'reelstate: job: validating -> quarantined is only allowed for doctor, keeper, operator') END
            WHEN 'cancelled' THEN CASE WHEN NOT (NEW.actor = 'operator' OR substr(NEW.actor, 1, 9) = 'operator:' OR NEW.actor = 'user' OR substr(NEW.actor, 1, 5) = 'user:') THEN RAISE(ABORT, 'reelstate: job: validating -> cancelled is only allowed for operator, user') END END
        WHEN 'planning' THEN CASE NEW.status
            WHEN 'pending' THEN CASE WHEN NOT (NEW.actor = 'operator' OR substr(NEW.actor, 1, 9) = 'operator:') THEN RAISE(ABORT, 'reelstate: job: planning -> pending is only allowed for operator') END
            WHEN 'validating' THEN RAISE(ABORT, 'reelstate: job: planning -> validating is not allowed')
            WHEN 'downloading_inputs' THEN CASE WHEN NOT (NEW.actor = 'orchestrator' OR substr(NEW.actor, 1, 13) = 'orchestrator:') THEN RAISE(ABORT, 'reelstate: job: planning -> downloading_inputs is only allowed for orchestrator') END
            WHEN 'processing' THEN CASE WHEN NOT (NEW.actor = 'orchestrator' OR substr(NEW.actor, 1, 13) = 'orchestrator:') THEN RAISE(ABORT, 'reelstate: job: planning -> processing is only allowed for orchestrator') END
            WHEN 'uploading_outputs' THEN CASE WHEN NOT (NEW.actor = 'orchestrator' OR substr(NEW.actor, 1, 13) = 'orchestrator:') THEN RAISE(ABORT, 'reelstate: job: planning -> uploading_outputs is only allowed for orchestrator') END
            WHEN 'completed' THEN CASE WHEN NOT (NEW.actor = 'operator' OR substr(NEW.actor, 1, 9) = 'operator:' OR NEW.actor = 'orchestrator' OR substr(NEW.actor, 1, 13) = 'orchestrator:') THEN RAISE(ABORT, 'reelstate: job: planning -> completed is only allowed for operator, orchestrator') END
            WHEN 'failed' THEN CASE WHEN NOT (NEW.actor = 'keeper' OR substr(NEW.actor, 1, 7) = 'keeper:' OR NEW.actor = 'operator' OR substr(NEW.actor, 1, 9) = 'operator:' OR NEW.actor = 'orchestrator' OR substr(NEW.actor, 1, 13) = 'orchestrator:') THEN RAISE(ABORT, 'reelstate: job: planning -> failed is only allowed for keeper, operator, orchestrator') END
            WHEN 'quarantined' THEN CASE WHEN NOT (NEW.actor = 'doctor' OR substr(NEW.actor, 1, 7) = 'doctor:' OR NEW.actor = 'keeper' OR substr(NEW.actor, 1, 7) = 'keeper:' OR NEW.actor = 'operator' OR substr(NEW.actor, 1, 9) = 'operator:') THEN RAISE(ABORT, 'reelstate: job: planning -> quarantined is only allowed for doctor, keeper, operator') END
            WHEN 'cancelled' THEN CASE WHEN NOT (NEW.actor = 'operator' OR substr(NEW.actor, 1, 9) = 'operator:' OR NEW.actor = 'user' OR substr(NEW.actor, 1, 5) = 'user:') THEN RAISE(ABORT, 'reelstate: job: planning -> cancelled is only allowed for operator, user') END END
        WHEN 'downloading_inputs' THEN CASE NEW.status
            WHEN 'pending' THEN CASE WHEN NOT (NEW.actor = 'operator' OR substr(NEW.actor, 1, 9) = 'operator:') THEN RAISE(ABORT, 'reelstate: job: downloading_inputs -> pending is only allowed for operator') END
            WHEN 'validating' THEN RAISE(ABORT, 'reelstate: job: downloading_inputs -> validating is not allowed')
            WHEN 'planning' THEN RAISE(ABORT, 'reelstate: job: downloading_inputs -> planning is not allowed')
            WHEN 'processing' THEN CASE WHEN NOT (NEW.actor = 'orchestrator' OR substr(NEW.actor, 1, 13) = 'orchestrator:') THEN RAISE(ABORT, 'reelstate: job: downloading_inputs -> processing is only allowed for orchestrator') END
            WHEN 'uploading_outputs' THEN CASE WHEN NOT (NEW.actor = 'orchestrator' OR substr(NEW.actor, 1, 13) = 'orchestrator:') THEN RAISE(ABORT, 'reelstate: job: downloading_inputs -> uploading_outputs is only allowed for orchestrator') END
            WHEN 'completed' THEN CASE WHEN NOT (NEW.actor = 'operator' OR substr(NEW.actor, 1, 9) = 'operator:' OR NEW.actor = 'orchestrator' OR substr(NEW.actor, 1, 13) = 'orchestrator:') THEN RAISE(ABORT, 'reelstate: job: downloading_inputs -> completed is only allowed for operator, orchestrator') END
            WHEN 'failed' THEN CASE WHEN NOT (NEW.actor = 'keeper' OR substr(NEW.actor, 1, 7) = 'keeper:' OR NEW.actor = 'operator' OR substr(NEW.actor, 1, 9) = 'operator:' OR NEW.actor = 'orchestrator' OR substr(NEW.actor, 1, 13) = 'orchestrator:') THEN RAISE(ABORT, 'reelstate: job: downloading_inputs -> failed is only allowed for keeper, operator, orchestrator') END
            WHEN 'quarantined' THEN CASE WHEN NOT (NEW.actor = 'doctor' OR substr(NEW.actor, 1, 7) = 'doctor:' OR NEW.actor = 'keeper' OR substr(NEW.actor, 1, 7) = 'keeper:' OR NEW.actor = 'operator' OR substr(NEW.actor, 1, 9) = 'operator:') THEN RAISE(ABORT, 'reelstate: job: downloading_inputs -> quarantined is only allowed for doctor, keeper, operator') END
            WHEN 'cancelled' THEN CASE WHEN NOT (NEW.actor = 'operator' OR substr(NEW.actor, 1, 9) = 'operator:' OR NEW.actor = 'user' OR substr(NEW.actor, 1, 5) = 'user:') THEN RAISE(ABORT, 'reelstate: job: downloading_inputs -> cancelled is only allowed for operator, user') END END
        WHEN 'processing' THEN CASE NEW.status
            WHEN 'pending' THEN CASE WHEN NOT (NEW.actor = 'operator' OR substr(NEW.actor, 1, 9) = 'operator:') THEN RAISE(ABORT, 'reelstate: job: processing -> pending is only allowed for operator') END
            WHEN 'validating' THEN RAISE(ABORT, 'reelstate: job: processing -> validating is not allowed')
            WHEN 'planning' THEN RAISE(ABORT, 'reelstate: job: processing -> planning is not allowed')
            WHEN 'downloading_inputs' THEN RAISE(ABORT, 'reelstate: job: processing -> downloading_inputs is not allowed')
            WHEN 'uploading_outputs' THEN CASE WHEN NOT (NEW.actor = 'orchestrator' OR substr(NEW.actor, 1, 13) = 'orchestrator:') THEN RAISE(ABORT, 'reelstate: job: processing -> uploading_outputs is only allowed for orchestrator') END
            WHEN 'completed' THEN CASE WHEN NOT (NEW.actor = 'operator' OR substr(NEW.actor, 1, 9) = 'operator:' OR NEW.actor = 'orchestrator' OR substr(NEW.actor, 1, 13) = 'orchestrator:') THEN RAISE(ABORT, 'reelstate: job: processing -> completed is only allowed for operator, orchestrator') END
            WHEN 'failed' THEN CASE WHEN NOT (NEW.actor = 'keeper' OR substr(NEW.actor, 1, 7) = 'keeper:' OR NEW.actor = 'operator' OR substr(NEW.actor, 1, 9) = 'operator:' OR NEW.actor = 'orchestrator' OR substr(NEW.actor, 1, 13) = 'orchestrator:') THEN RAISE(ABORT, 'reelstate: job: processing -> failed is only allowed for keeper, operator, orchestrator') END
            WHEN 'quarantined' THEN CASE WHEN NOT (NEW.actor = 'doctor' OR substr(NEW.actor, 1, 7) = 'doctor:' OR NEW.actor = 'keeper' OR substr(NEW.actor, 1, 7) = 'keeper:' OR NEW.actor = 'operator' OR substr(NEW.actor, 1, 9) = 'operator:') THEN RAISE(ABORT, 'reelstate: job: processing -> quarantined is only allowed for doctor, keeper, operator') END
            WHEN 'cancelled' THEN CASE WHEN NOT (NEW.actor = 'operator' OR substr(NEW.actor, 1, 9) = 'operator:' OR NEW.actor = 'user' OR substr(NEW.actor, 1, 5) = 'user:') THEN RAISE(ABORT, 'reelstate: job: processing -> cancelled is only allowed for operator, user') END END
        WHEN 'uploading_outputs' THEN CASE NEW.status
            WHEN 'pending' THEN CASE WHEN NOT (NEW.actor = 'operator' OR substr(NEW.actor, 1, 9) = 'operator:') THEN RAISE(ABORT, 'reelstate: job: uploading_outputs -> pending is only allowed for operator') END
            WHEN 'validating' THEN RAISE(ABORT, 'reelstate: job: uploading_outputs -> validating is not allowed')
            WHEN 'planning' THEN RAISE(ABORT, 'reelstate: job: uploading_outputs -> planning is not allowed')
            WHEN 'downloading_inputs' THEN RAISE(ABORT, 'reelstate: job: uploading_outputs -> downloading_inputs is not allowed')
            WHEN 'processing' THEN RAISE(ABORT, 'reelstate: job: uploading_outputs -> processing is not allowed')
            WHEN 'completed' THEN CASE WHEN NOT (NEW.actor = 'operator' OR substr(NEW.actor, 1, 9) = 'operator:' OR NEW.actor = 'orchestrator' OR substr(NEW.actor, 1, 13) = 'orchestrator:') THEN RAISE(ABORT, 'reelstate: job: uploading_outputs -> completed is only allowed for operator, orchestrator') END
            WHEN 'failed' THEN CASE WHEN NOT (NEW.actor = 'keeper' OR substr(NEW.actor, 1, 7) = 'keeper:' OR NEW.actor = 'operator' OR substr(NEW.actor, 1, 9) = 'operator:' OR NEW.actor = 'orchestrator' OR substr(NEW.actor, 1, 13) = 'orchestrator:') THEN RAISE(ABORT, 'reelstate: job: uploading_outputs -> failed is only allowed for keeper, operator, orchestrator') END
            WHEN 'quarantined' THEN CASE WHEN NOT (NEW.actor = 'doctor' OR substr(NEW.actor, 1, 7) = 'doctor:' OR NEW.actor = 'keeper' OR substr(NEW.actor, 1, 7) = 'keeper:' OR NEW.actor = 'operator' OR substr(NEW.actor, 1, 9) = 'operator:') THEN RAISE(ABORT, 'reelstate: job: uploading_outputs -> quarantined is only allowed for doctor, keeper, operator') END
            WHEN 'cancelled' THEN CASE WHEN NOT (NEW.actor = 'operator' OR substr(NEW.actor, 1, 9) = 'operator:' OR NEW.actor = 'user' OR substr(NEW.actor, 1, 5) = 'user:') THEN RAISE(ABORT, 'reelstate: job: uploading_outputs -> cancelled is only allowed for operator, user') END END
        WHEN 'completed' THEN CASE NEW.status
            WHEN 'pending' THEN RAISE(ABORT, 'reelstate: job: completed -> pending is not allowed')
            WHEN 'validating' THEN RAISE(ABORT, 'reelstate: job: completed -> validating is not allowed')
            WHEN 'planning' THEN RAISE(ABORT, 'reelstate: job: completed -> planning is not allowed')
            WHEN 'downloading_inputs' THEN RAISE(ABORT, 'reelstate: job: completed -> downloading_inputs is not allowed')
            WHEN 'processing' THEN RAISE(ABORT, 'reelstate: job: completed -> processing is not allowed')
            WHEN 'uploading_outputs' THEN RAISE(ABORT, 'reelstate: job: completed -> uploading_outputs is not allowed')
            WHEN 'failed' THEN RAISE(ABORT, 'reelstate: job: completed -> failed is not allowed')
            WHEN 'quarantined' THEN RAISE(ABORT, 'reelstate: job: completed -> quarantined is not allowed')
            WHEN 'cancelled' THEN RAISE(ABORT, 'reelstate: job: completed -> cancelled is not allowed') END
        WHEN 'failed' THEN CASE NEW.status
            WHEN 'pending' THEN CASE WHEN NOT (NEW.actor = 'operator' OR substr(NEW.actor, 1, 9) = 'operator:' OR NEW.actor = 'user' OR substr(NEW.actor, 1, 5) = 'user:') THEN RAISE(ABORT, 'reelstate: job: failed -> pending is only allowed for operator, user') END
            WHEN 'validating' THEN RAISE(ABORT, 'reelstate: job: failed -> validating is not allowed')
            WHEN 'planning' THEN RAISE(ABORT, 'reelstate: job: failed -> planning is not allowed')
            WHEN 'downloading_inputs' THEN RAISE(ABORT, 'reelstate: job: failed -> downloading_inputs is not allowed')
            WHEN 'processing' THEN RAISE(ABORT, 'reelstate: job: failed -> processing is not allowed')
            WHEN 'uploading_outputs' THEN RAISE(ABORT, 'reelstate: job: failed -> uploading_outputs is not allowed')
            WHEN 'completed' THEN CASE WHEN NOT (NEW.actor = 'operator' OR substr(NEW.actor, 1, 9) = 'operator:') THEN RAISE(ABORT, 'reelstate: job: failed -> completed is only allowed for operator') END
            WHEN 'quarantined' THEN CASE WHEN NOT (NEW.actor = 'doctor' OR substr(NEW.actor, 1, 7) = 'doctor:' OR NEW.actor = 'operator' OR substr(NEW.actor, 1, 9) = 'operator:') THEN RAISE(ABORT, 'reelstate: job: failed -> quarantined is only allowed for doctor, operator') END
            WHEN 'cancelled' THEN CASE WHEN NOT (NEW.actor = 'operator' OR substr(NEW.actor, 1, 9) = 'operator:' OR NEW.actor = 'user' OR substr(NEW.actor, 1, 5) = 'user:') THEN RAISE(ABORT, 'reelstate: job: failed -> cancelled is only allowed for operator, user') END END
        WHEN 'quarantined' THEN CASE NEW.status
            WHEN 'pending' THEN CASE WHEN NOT (NEW.actor = 'operator' OR substr(NEW.actor, 1, 9) = 'operator:') THEN RAISE(ABORT, 'reelstate: job: quarantined -> pending is only allowed for operator') END
            WHEN 'validating' THEN RAISE(ABORT, 'reelstate: job: quarantined -> validating is not allowed')
            WHEN 'planning' THEN RAISE(ABORT, 'reelstate: job: quarantined -> planning is not allowed')
            WHEN 'downloading_inputs' THEN RAISE(ABORT, 'reelstate: job: quarantined -> downloading_inputs is not allowed')
            WHEN 'processing' THEN RAISE(ABORT, 'reelstate: job: quarantined -> processing is not allowed')
            WHEN 'uploading_outputs' THEN RAISE(ABORT, 'reelstate: job: quarantined -> uploading_outputs is not allowed')
            WHEN 'completed' THEN CASE WHEN NOT (NEW.actor = 'operator' OR substr(NEW.actor, 1, 9) = 'operator:') THEN RAISE(ABORT, 'reelstate: job: quarantined -> completed is only allowed for operator') END
            WHEN 'failed' THEN CASE WHEN NOT (NEW.actor = 'operator' OR substr(NEW.actor, 1, 9) = 'operator:') THEN RAISE(ABORT, 'reelstate: job: quarantined -> failed is only allowed for operator') END
            WHEN 'cancelled' THEN CASE WHEN NOT (NEW.actor = 'operator' OR substr(NEW.actor, 1, 9) = 'operator:' OR NEW.actor = 'user' OR substr(NEW.actor, 1, 5) = 'user:') THEN RAISE(ABORT, 'reelstate: job: quarantined -> cancelled is only allowed for operator, user') END END
        WHEN 'cancelled' THEN CASE NEW.status
            WHEN 'pending' THEN RAISE(ABORT, 'reelstate: job: cancelled -> pending is not allowed')
            WHEN 'validating' THEN RAISE(ABORT, 'reelstate: job: cancelled -> validating is not allowed')
            WHEN 'planning' THEN RAISE(ABORT, 'reelstate: job: cancelled -> planning is not allowed')
            WHEN 'downloading_inputs' THEN RAISE(ABORT, 'reelstate: job: cancelled -> downloading_inputs is not allowed')
            WHEN 'processing' THEN RAISE(ABORT, 'reelstate: job: cancelled -> processing is not allowed')
            WHEN 'uploading_outputs' THEN RAISE(ABORT, 'reelstate: job: cancelled -> uploading_outputs is not allowed')
            WHEN 'completed' THEN RAISE(ABORT, 'reelstate: job: cancelled -> completed is not allowed')
            WHEN 'failed' THEN RAISE(ABORT, 'reelstate: job: cancelled -> failed is not allowed')
            WHEN 'quarantined' THEN RAISE(ABORT, 'reelstate: job: cancelled -> quarantined is not allowed') END END END;
    INSERT INTO events (entity, job_id, data, version, origin, target, actor, reason, at)
    SELECT 'job', NEW.id, CASE WHEN NEW.status IN ('failed', 'quarantined') THEN NEW.error END, NEW.version, OLD.status, NEW.status, NEW.actor,
           NEW.reason, NEW.changed_at
    WHERE NOT EXISTS (SELECT 1 FROM events WHERE job_id = NEW.id AND stage = 0 AND part = 0 AND job_version = NEW.version AND job_target = NEW.status);
END;

CREATE TRIGGER guard_jobs_delete BEFORE DELETE ON jobs
WHEN NOT EXISTS (SELECT 1 FROM archiving) AND NOT EXISTS (SELECT 1 FROM repairing)
BEGIN
    SELECT RAISE(ABORT, 'reelstate: jobs are not deleted by manual SQL; archive moves old rows');
END;

CREATE TRIGGER guard_jobs_flag AFTER UPDATE OF status ON jobs
WHEN OLD.flagged IS NOT NULL AND NEW.status <> OLD.status AND NEW.status <> 'validating' AND NEW.status <> 'planning' AND NEW.status <> 'downloading_inputs' AND NEW.status <> 'processing' AND NEW.status <> 'uploading_outputs'
BEGIN
    UPDATE jobs SET flagged = NULL, flagged_at = NULL WHERE id = NEW.id;
END;

CREATE TRIGGER guard_jobs_identity AFTER UPDATE OF id ON jobs WHEN NEW.id IS NOT OLD.id
BEGIN
    SELECT RAISE(ABORT, 'reelstate: job: its key (id) never changes');
END;

CREATE TRIGGER guard_jobs_insert AFTER INSERT ON jobs
BEGIN
    SELECT CASE WHEN NEW.version <> 1 OR NEW.status <> 'pending'
        THEN RAISE(ABORT, 'reelstate: job: a new row must be pending at version 1')
        WHEN EXISTS (SELECT 1 FROM events WHERE job_id = NEW.id AND stage = -1 AND part = -1) THEN RAISE(ABORT, 'reelstate: job: a row with this key existed before') END;
    INSERT INTO events (id, entity, job_id, version, origin, target, actor, reason, at)
    VALUES (CASE WHEN EXISTS (SELECT 1 FROM tasks WHERE job_id = NEW.id AND stage = 0 AND part = 0 AND sole) THEN max((SELECT coalesce(max(id), 0) FROM events), (SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'events')) + 2 END, CASE WHEN EXISTS (SELECT 1 FROM tasks WHERE job_id = NEW.id AND stage = 0 AND part = 0 AND sole) THEN 'job+stage' ELSE 'job' END, NEW.id, 1, NULL, NEW.status, NEW.actor, NEW.reason, NEW.changed_at);
END;

CREATE TRIGGER guard_jobs_manual AFTER UPDATE OF status ON jobs
WHEN NEW.version = OLD.version AND NEW.status <> OLD.status AND NOT EXISTS (SELECT 1 FROM repairing)
BEGIN
    SELECT CASE OLD.status
        WHEN 'planning' THEN CASE NEW.status
            WHEN 'validating' THEN RAISE(ABORT, 'reelstate: job: planning -> validating is not allowed') END
        WHEN 'downloading_inputs' THEN CASE NEW.status
            WHEN 'validating' THEN RAISE(ABORT, 'reelstate: job: downloading_inputs -> validating is not allowed')
            WHEN 'planning' THEN RAISE(ABORT, 'reelstate: job: downloading_inputs -> planning is not allowed') END
        WHEN 'processing' THEN CASE NEW.status
            WHEN 'validating' THEN RAISE(ABORT, 'reelstate: job: processing -> validating is not allowed')
            WHEN 'planning' THEN RAISE(ABORT, 'reelstate: job: processing -> planning is not allowed')
            WHEN 'downloading_inputs' THEN RAISE(ABORT, 'reelstate: job: processing -> downloading_inputs is not allowed') END
        WHEN 'uploading_outputs' THEN CASE NEW.status
            WHEN 'validating' THEN RAISE(ABORT, 'reelstate: job: uploading_outputs -> validating is not allowed')
            WHEN 'planning' THEN RAISE(ABORT, 'reelstate: job: uploading_outputs -> planning is not allowed')
            WHEN 'downloading_inputs' THEN RAISE(ABORT, 'reelstate: job: uploading_outputs -> downloading_inputs is not allowed')
            WHEN 'processing' THEN RAISE(ABORT, 'reelstate: job: uploading_outputs -> processing is not allowed') END
        WHEN 'completed' THEN CASE NEW.status
            WHEN 'pending' THEN RAISE(ABORT, 'reelstate: job: completed -> pending is not allowed')
            WHEN 'validating' THEN RAISE(ABORT, 'reelstate: job: completed -> validating is not allowed')
            WHEN 'planning' THEN RAISE(ABORT, 'reelstate: job: completed -> planning is not allowed')
            WHEN 'downloading_inputs' THEN RAISE(ABORT, 'reelstate: job: completed -> downloading_inputs is not allowed')
            WHEN 'processing' THEN RAISE(ABORT, 'reelstate: job: completed -> processing is not allowed')
            WHEN 'uploading_outputs' THEN RAISE(ABORT, 'reelstate: job: completed -> uploading_outputs is not allowed')
            WHEN 'failed' THEN RAISE(ABORT, 'reelstate: job: completed -> failed is not allowed')
            WHEN 'quarantined' THEN RAISE(ABORT, 'reelstate: job: completed -> quarantined is not allowed')
            WHEN 'cancelled' THEN RAISE(ABORT, 'reelstate: job: completed -> cancelled is not allowed') END
        WHEN 'failed' THEN CASE NEW.status
            WHEN 'validating' THEN RAISE(ABORT, 'reelstate: job: failed -> validating is not allowed')
            WHEN 'planning' THEN RAISE(ABORT, 'reelstate: job: failed -> planning is not allowed')
            WHEN 'downloading_inputs' THEN RAISE(ABORT, 'reelstate: job: failed -> downloading_inputs is not allowed')
            WHEN 'processing' THEN RAISE(ABORT, 'reelstate: job: failed -> processing is not allowed')
            WHEN 'uploading_outputs' THEN RAISE(ABORT, 'reelstate: job: failed -> uploading_outputs is not allowed') END
        WHEN 'quarantined' THEN CASE NEW.status
            WHEN 'validating' THEN RAISE(ABORT, 'reelstate: job: quarantined -> validating is not allowed')
            WHEN 'planning' THEN RAISE(ABORT, 'reelstate: job: quarantined -> planning is not allowed')
            WHEN 'downloading_inputs' THEN RAISE(ABORT, 'reelstate: job: quarantined -> downloading_inputs is not allowed')
            WHEN 'processing' THEN RAISE(ABORT, 'reelstate: job: quarantined -> processing is not allowed')
            WHEN 'uploading_outputs' THEN RAISE(ABORT, 'reelstate: job: quarantined -> uploading_outputs is not allowed') END
        WHEN 'cancelled' THEN CASE NEW.status
            WHEN 'pending' THEN RAISE(ABORT, 'reelstate: job: cancelled -> pending is not allowed')
            WHEN 'validating' THEN RAISE(ABORT, 'reelstate: job: cancelled -> validating is not allowed')
            WHEN 'planning' THEN RAISE(ABORT, 'reelstate: job: cancelled -> planning is not allowed')
            WHEN 'downloading_inputs' THEN RAISE(ABORT, 'reelstate: job: cancelled -> downloading_inputs is not allowed')
            WHEN 'processing' THEN RAISE(ABORT, 'reelstate: job: cancelled -> processing is not allowed')
            WHEN 'uploading_outputs' THEN RAISE(ABORT, 'reelstate: job: cancelled -> uploading_outputs is not allowed')
            WHEN 'completed' THEN RAISE(ABORT, 'reelstate: job: cancelled -> completed is not allowed')
            WHEN 'failed' THEN RAISE(ABORT, 'reelstate: job: cancelled -> failed is not allowed')
            WHEN 'quarantined' THEN RAISE(ABORT, 'reelstate: job: cancelled -> quarantined is not allowed') END END;
    INSERT INTO events (entity, job_id, version, origin, target, actor, at)
    VALUES ('job', NEW.id, OLD.version + 1, OLD.status, NEW.status, 'sql',
            (julianday('now') - 2440587.5) * 86400.0);
    UPDATE jobs SET version = OLD.version + 1, actor = 'sql', reason = NULL, changed_at = (julianday('now') - 2440587.5) * 86400.0
    WHERE id = NEW.id;
END;

CREATE TRIGGER guard_jobs_priority AFTER UPDATE OF priority ON jobs WHEN NEW.priority <> OLD.priority AND NEW.status <> 'completed' AND NEW.status <> 'cancelled' AND NOT EXISTS (SELECT 1 FROM repairing)
BEGIN
    UPDATE tasks SET priority = NEW.priority
    WHERE job_id = NEW.id AND priority <> NEW.priority;
END;

CREATE TRIGGER guard_jobs_priority_manual AFTER UPDATE OF priority ON jobs
WHEN NEW.version = OLD.version AND NEW.status = OLD.status AND NEW.priority <> OLD.priority AND NEW.status <> 'completed' AND NEW.status <> 'cancelled' AND NOT EXISTS (SELECT 1 FROM repairing)
BEGIN
    INSERT INTO events (entity, job_id, version, origin, target, actor, reason, at)
    VALUES ('job', NEW.id, OLD.version + 1, OLD.status, NEW.status, 'sql',
            'priority ' || OLD.priority || ' to ' || NEW.priority, (julianday('now') - 2440587.5) * 86400.0);
    UPDATE jobs SET version = OLD.version + 1, actor = 'sql',
        reason = 'priority ' || OLD.priority || ' to ' || NEW.priority, changed_at = (julianday('now') - 2440587.5) * 86400.0
    WHERE id = NEW.id;
END;

CREATE TRIGGER guard_jobs_times_insert AFTER INSERT ON jobs
WHEN (NEW.run_after >= '' OR NEW.created_at >= '' OR NEW.started_at >= '' OR NEW.changed_at >= '' OR NEW.finished_at >= '' OR NEW.flagged_at >= '' OR NEW.finished_at < NEW.started_at) AND NOT EXISTS (SELECT 1 FROM repairing)
BEGIN
    SELECT RAISE(ABORT, 'reelstate: jobs: instants are numbers (unix seconds), and nothing finishes before it starts');
END;

CREATE TRIGGER guard_jobs_times_update AFTER UPDATE OF run_after, created_at, started_at, changed_at, finished_at, flagged_at ON jobs
WHEN (NEW.run_after >= '' OR NEW.created_at >= '' OR NEW.started_at >= '' OR NEW.changed_at >= '' OR NEW.finished_at >= '' OR NEW.flagged_at >= '' OR NEW.finished_at < NEW.started_at) AND NOT EXISTS (SELECT 1 FROM repairing)
BEGIN
    SELECT RAISE(ABORT, 'reelstate: jobs: instants are numbers (unix seconds), and nothing finishes before it starts');
END;

CREATE TRIGGER note_endings AFTER UPDATE OF status ON jobs
WHEN NEW.status <> OLD.status AND (NEW.status IN ('failed', 'quarantined', 'completed', 'cancelled') OR OLD.status IN ('failed', 'quarantined', 'completed', 'cancelled'))
 AND (EXISTS (SELECT 1 FROM group_jobs) OR EXISTS (SELECT 1 FROM waits WHERE ended_at IS NULL))
BEGIN
    UPDATE group_jobs SET outcome = CASE WHEN NEW.status IN ('failed', 'quarantined', 'completed', 'cancelled') THEN NEW.status END WHERE job_id = NEW.id;
    INSERT INTO ended_jobs (job_id, active)
    SELECT NEW.id, NEW.status NOT IN ('failed', 'quarantined', 'completed', 'cancelled')
    WHERE EXISTS (SELECT 1 FROM group_jobs WHERE job_id = NEW.id)
       OR EXISTS (SELECT 1 FROM dependencies AS d JOIN waits AS w ON w.job_id = d.job_id
                  WHERE d.kind = 'job' AND d.target = NEW.id AND w.ended_at IS NULL);
END;

CREATE TRIGGER outbox_jobs_change AFTER UPDATE OF status ON jobs
WHEN NEW.status <> OLD.status AND EXISTS (SELECT 1 FROM webhooks) AND NOT EXISTS (SELECT 1 FROM repairing)
BEGIN
    INSERT INTO deliveries (webhook_id, lane, url, type, job_id, data, created_at, next_at)
    SELECT w.id, w.id, NULL, t.name, NEW.id, json_object('job_id', NEW.id, 'pipeline', (SELECT name FROM pipelines WHERE id = NEW.pipeline_id), 'status', NEW.status, 'user_id', NEW.user_id,
               'version', OLD.version + 1, 'resource_id', NEW.resource_id, 'reason', NEW.reason,
               'error', CASE WHEN NEW.status IN ('failed', 'quarantined') AND json_valid(NEW.error)
                             THEN json(NEW.error) END,
               'created_at', NEW.created_at, 'started_at', NEW.started_at, 'finished_at', NEW.finished_at), CASE WHEN NEW.version = OLD.version THEN (julianday('now') - 2440587.5) * 86400.0 ELSE NEW.changed_at END, CASE WHEN NEW.version = OLD.version THEN (julianday('now') - 2440587.5) * 86400.0 ELSE NEW.changed_at END
    FROM event_types AS t JOIN webhooks AS w ON w.kind = 'webhook' AND w.enabled AND w.user_id IN ('', NEW.user_id)
     AND (w.events = '[]' OR EXISTS (SELECT 1 FROM json_each(w.events) WHERE value = t.name))
    WHERE t.target = NEW.status AND t.origin IN ('', OLD.status)
     AND (NOT t.resources OR NEW.resource_id IS NOT NULL);
    INSERT INTO deliveries (webhook_id, lane, url, type, job_id, data, created_at, next_at)
    SELECT w.id, c.lane, c.url, t.name, NEW.id, json_object('job_id', NEW.id, 'pipeline', (SELECT name FROM pipelines WHERE id = NEW.pipeline_id), 'status', NEW.status, 'user_id', NEW.user_id,
               'version', OLD.version + 1, 'resource_id', NEW.resource_id, 'reason', NEW.reason,
               'error', CASE WHEN NEW.status IN ('failed', 'quarantined') AND json_valid(NEW.error)
                             THEN json(NEW.error) END,
               'created_at', NEW.created_at, 'started_at', NEW.started_at, 'finished_at', NEW.finished_at), CASE WHEN NEW.version = OLD.version THEN (julianday('now') - 2440587.5) * 86400.0 ELSE NEW.changed_at END, CASE WHEN NEW.version = OLD.version THEN (julianday('now') - 2440587.5) * 86400.0 ELSE NEW.changed_at END
    FROM event_types AS t JOIN callbacks AS c ON c.job_id = NEW.id
    JOIN webhooks AS w ON w.id = c.webhook_id AND w.enabled
    WHERE t.target = NEW.status AND t.origin IN ('', OLD.status)
     AND (NOT t.resources OR NEW.resource_id IS NOT NULL);
    INSERT INTO alerts (type, subject, message, job_id, at)
    SELECT CASE NEW.status WHEN 'failed' THEN 'job_max_retries_exceeded' ELSE 'quarantined' END,
           coalesce((SELECT name FROM pipelines WHERE id = NEW.pipeline_id), '#' || NEW.pipeline_id),
           substr(coalesce(CASE WHEN json_valid(NEW.error) THEN json_extract(NEW.error, '$.cause.message') END,
                           NEW.reason, ''), 1, 1000), NEW.id, NEW.changed_at
    WHERE NEW.status IN ('failed', 'quarantined') AND NEW.version <> OLD.version
      AND substr(NEW.actor, 1, 6) IN ('orches', 'keeper', 'doctor') AND EXISTS (SELECT 1 FROM webhooks WHERE kind = 'alert');
END;

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

CREATE TABLE lanes (
    id       INTEGER PRIMARY KEY,
    pipeline TEXT NOT NULL,
    needs    TEXT NOT NULL,
    prefers  TEXT NOT NULL,
    UNIQUE (pipeline, needs, prefers)
);

CREATE TRIGGER guard_lanes_change AFTER UPDATE OF id, pipeline, needs, prefers ON lanes
WHEN (OLD.id, OLD.pipeline, OLD.needs, OLD.prefers) IS NOT (NEW.id, NEW.pipeline, NEW.needs, NEW.prefers)
 AND NOT EXISTS (SELECT 1 FROM repairing)
BEGIN
    SELECT RAISE(ABORT, 'reelstate: lanes are never changed; declare another version');
END;

CREATE TRIGGER guard_lanes_delete BEFORE DELETE ON lanes
WHEN NOT EXISTS (SELECT 1 FROM archiving) AND NOT EXISTS (SELECT 1 FROM repairing)
BEGIN
    SELECT RAISE(ABORT, 'reelstate: lanes are not deleted by manual SQL; archive moves old rows');
END;

CREATE TABLE limit_ended (
    id    INTEGER PRIMARY KEY,
    queue INTEGER NOT NULL
);

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

CREATE INDEX limit_queues_blocked ON limit_queues (blocked_by, priority DESC, turn) WHERE blocked_by IS NOT NULL;

CREATE INDEX limit_queues_open ON limit_queues (lane, priority DESC, turn) WHERE waiting AND blocked_by IS NULL;

CREATE INDEX limit_queues_turns ON limit_queues (lane, turn);

CREATE INDEX limit_queues_waiting ON limit_queues (lane, turn) WHERE waiting;

CREATE TABLE limit_starts (
    key    INTEGER NOT NULL,
    job_id INTEGER NOT NULL,
    stage  INTEGER NOT NULL,
    part   INTEGER NOT NULL,
    at     REAL
);

CREATE INDEX limit_starts_by_key ON limit_starts (key, at);

CREATE INDEX limit_starts_expected ON limit_starts (job_id, stage, part) WHERE at IS NULL;

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

CREATE TABLE migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400.0));

CREATE VIEW opened_stages AS
SELECT job_id, stage, open, sole, version, total, done, skipped, failed, opened_at FROM stages
UNION ALL
SELECT t.job_id, t.stage, 1, 1, 1, 1, CASE WHEN t.status = 'done' THEN 1 ELSE 0 END,
       CASE WHEN t.status = 'skipped' THEN 1 ELSE 0 END,
       CASE WHEN t.status = 'error' AND t.run_after IS NULL THEN 1 ELSE 0 END,
       (SELECT j.created_at FROM jobs AS j WHERE j.id = t.job_id)
FROM tasks AS t WHERE t.sole;

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

CREATE TABLE pipelines (
    id          INTEGER PRIMARY KEY,
    name        TEXT NOT NULL,
    digest      TEXT NOT NULL,
    graph       TEXT NOT NULL,
    declared_at REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400.0),
    pinned      INTEGER NOT NULL DEFAULT 0,
    UNIQUE (name, digest)
);

CREATE TRIGGER guard_pipelines_change AFTER UPDATE OF id, name, digest, graph ON pipelines
WHEN (OLD.id, OLD.name, OLD.digest, OLD.graph) IS NOT (NEW.id, NEW.name, NEW.digest, NEW.graph) AND NOT EXISTS (SELECT 1 FROM repairing)
BEGIN
    SELECT RAISE(ABORT, 'reelstate: pipelines are never changed; declare another version');
END;

CREATE TRIGGER guard_pipelines_delete BEFORE DELETE ON pipelines
WHEN NOT EXISTS (SELECT 1 FROM archiving) AND NOT EXISTS (SELECT 1 FROM repairing)
BEGIN
    SELECT RAISE(ABORT, 'reelstate: pipelines are not deleted by manual SQL; archive moves old rows');
END;

CREATE TABLE removed_versions (
    job_id     INTEGER PRIMARY KEY,
    video_id   INTEGER NOT NULL,
    removed_at REAL NOT NULL,
    swept_at   REAL
);

CREATE INDEX removed_versions_unswept ON removed_versions (job_id) WHERE swept_at IS NULL;

CREATE TABLE repairing (
    since REAL NOT NULL
);

CREATE TABLE schedule_runs (
    schedule_id INTEGER NOT NULL,
    key         TEXT NOT NULL,
    tick        REAL NOT NULL,
    source      TEXT NOT NULL
        CONSTRAINT schedule_runs_source CHECK (source IN ('tick', 'trigger', 'backfill')),
    outcome     TEXT NOT NULL
        CONSTRAINT schedule_runs_outcome CHECK (outcome IN ('submitted', 'queued', 'skipped', 'missed', 'failed')),
    job_id      INTEGER,
    reason      TEXT,
    active      INTEGER NOT NULL DEFAULT 0,
    at          REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400.0),
    PRIMARY KEY (schedule_id, key)
);

CREATE INDEX schedule_runs_active ON schedule_runs (schedule_id) WHERE active;

CREATE INDEX schedule_runs_by_age ON schedule_runs (at);

CREATE INDEX schedule_runs_by_job ON schedule_runs (job_id) WHERE job_id IS NOT NULL;

CREATE INDEX schedule_runs_by_time ON schedule_runs (schedule_id, at, tick);

CREATE INDEX schedule_runs_jobs ON schedule_runs (schedule_id, job_id) WHERE job_id IS NOT NULL;

CREATE INDEX schedule_runs_queued ON schedule_runs (schedule_id, tick) WHERE outcome = 'queued';

CREATE TABLE schedules (
    id              INTEGER PRIMARY KEY,
    name            TEXT NOT NULL CONSTRAINT schedules_name UNIQUE,
    pipeline        TEXT NOT NULL,
    spec            TEXT NOT NULL,
    priority        INTEGER NOT NULL,
    user_id         TEXT NOT NULL DEFAULT '',
    timing          TEXT NOT NULL,
    timezone        TEXT NOT NULL DEFAULT 'UTC',
    overlap         TEXT NOT NULL DEFAULT 'skip'
        CONSTRAINT schedules_overlap CHECK (overlap IN ('skip', 'queue_one', 'queue_all', 'cancel_other', 'allow')),
    catch_up        TEXT NOT NULL DEFAULT 'latest'
        CONSTRAINT schedules_catch_up CHECK (catch_up IN ('latest', 'all', 'none')),
    catch_up_window REAL NOT NULL DEFAULT 86400,
    jitter          REAL NOT NULL DEFAULT 0,
    paused          INTEGER NOT NULL DEFAULT 0,
    note            TEXT NOT NULL DEFAULT '',
    starts_at       REAL,
    ends_at         REAL,
    next_tick       REAL,
    next_run_at     REAL,
    version         INTEGER NOT NULL DEFAULT 1,
    actor           TEXT NOT NULL DEFAULT 'sql',
    created_at      REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400.0),
    changed_at      REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400.0)
);

CREATE INDEX schedules_by_user ON schedules (user_id);

CREATE INDEX schedules_due ON schedules (next_run_at) WHERE next_run_at IS NOT NULL;

CREATE TABLE secrets (
    name       TEXT PRIMARY KEY,
    secret     TEXT NOT NULL,
    created_at REAL NOT NULL
) WITHOUT ROWID;

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

CREATE TRIGGER audit_stages_opened AFTER INSERT ON stages
BEGIN
    INSERT INTO events (entity, job_id, stage, version, origin, target, actor, data, at)
    VALUES ('stage', NEW.job_id, NEW.stage, NEW.version, NULL, 'opened', 'orchestrator',
            json_object('total', NEW.total), NEW.opened_at);
END;

CREATE TRIGGER audit_stages_reopened AFTER UPDATE OF open ON stages WHEN NEW.open AND NOT OLD.open
BEGIN
    INSERT INTO events (entity, job_id, stage, version, origin, target, actor, data, at)
    VALUES ('stage', NEW.job_id, NEW.stage, NEW.version, 'waiting', 'opened', 'orchestrator',
            json_object('total', NEW.total), NEW.opened_at);
END;

CREATE TRIGGER guard_stages_delete BEFORE DELETE ON stages
WHEN NOT EXISTS (SELECT 1 FROM archiving) AND NOT EXISTS (SELECT 1 FROM repairing)
BEGIN
    SELECT RAISE(ABORT, 'reelstate: stages are not deleted by manual SQL; archive moves old rows');
END;

CREATE TRIGGER guard_stages_times_insert AFTER INSERT ON stages
WHEN (NEW.opened_at >= '') AND NOT EXISTS (SELECT 1 FROM repairing)
BEGIN
    SELECT RAISE(ABORT, 'reelstate: stages: instants are numbers (unix seconds), and nothing finishes before it starts');
END;

CREATE TRIGGER guard_stages_times_update AFTER UPDATE OF opened_at ON stages
WHEN (NEW.opened_at >= '') AND NOT EXISTS (SELECT 1 FROM repairing)
BEGIN
    SELECT RAISE(ABORT, 'reelstate: stages: instants are numbers (unix seconds), and nothing finishes before it starts');
END;

CREATE TABLE state_jobs (
    job_id     TEXT PRIMARY KEY,
    tasks      INTEGER NOT NULL CONSTRAINT state_jobs_tasks CHECK (tasks > 0),
    tags       TEXT NOT NULL DEFAULT '[]',
    generation INTEGER NOT NULL DEFAULT 1,
    created_at REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400.0),
    deleted_at REAL,
    floor_id   INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

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

CREATE UNIQUE INDEX state_log_by_event ON state_log (job_id, generation, task, tag, event_id);

CREATE INDEX state_log_by_job ON state_log (job_id, generation, id);

CREATE UNIQUE INDEX state_log_by_version ON state_log (job_id, generation, task, tag, version);

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
    flag_after       REAL, sole INTEGER NOT NULL DEFAULT 0, queue INTEGER,
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

CREATE INDEX tasks_due ON tasks (run_after) WHERE run_after IS NOT NULL;

CREATE UNIQUE INDEX tasks_pkey ON tasks (job_id, stage, part);

CREATE INDEX tasks_ready ON tasks (lane, priority DESC, job_id, stage, part) WHERE status = 'ready';

CREATE INDEX tasks_running ON tasks (worker_id, job_id, stage, part) WHERE status = 'running';

CREATE INDEX tasks_unknown ON tasks (status)
    WHERE status NOT IN ('new', 'ready', 'running', 'done', 'error', 'skipped', 'cancelled');

CREATE INDEX tasks_waiting ON tasks (job_id, stage, status, run_after) WHERE run_after IS NOT NULL;

CREATE TRIGGER guard_tasks_change AFTER UPDATE OF status, version, token, attempt ON tasks
WHEN (NEW.version <> OLD.version AND (NEW.actor <> 'sql' OR NEW.status <> OLD.status
      OR NOT EXISTS (SELECT 1 FROM events WHERE job_id = NEW.job_id AND stage = NEW.stage AND part = NEW.part AND version = NEW.version))
      OR NEW.version NOT IN (OLD.version, OLD.version + 1) OR NEW.token < OLD.token OR NEW.attempt < OLD.attempt - 1)
 AND NOT EXISTS (SELECT 1 FROM repairing)
BEGIN
    SELECT CASE WHEN NEW.version NOT IN (OLD.version, OLD.version + 1) OR NEW.token < OLD.token OR NEW.attempt < OLD.attempt - 1
        THEN RAISE(ABORT, 'reelstate: task: version grows by one, and token and attempt never go back')
        ELSE CASE OLD.status
        WHEN 'new' THEN CASE NEW.status
            WHEN 'ready' THEN CASE WHEN NOT (NEW.actor = 'operator' OR substr(NEW.actor, 1, 9) = 'operator:' OR NEW.actor = 'orchestrator' OR substr(NEW.actor, 1, 13) = 'orchestrator:' OR NEW.actor = 'user' OR substr(NEW.actor, 1, 5) = 'user:') THEN RAISE(ABORT, 'reelstate: task: new -> ready is only allowed for operator, orchestrator, user') END
            WHEN 'running' THEN RAISE(ABORT, 'reelstate: task: new -> running is not allowed')
            WHEN 'done' THEN RAISE(ABORT, 'reelstate: task: new -> done is not allowed')
            WHEN 'error' THEN RAISE(ABORT, 'reelstate: task: new -> error is not allowed')
            WHEN 'skipped' THEN CASE WHEN NOT (NEW.actor = 'orchestrator' OR substr(NEW.actor, 1, 13) = 'orchestrator:') THEN RAISE(ABORT, 'reelstate: task: new -> skipped is only allowed for orchestrator') END
            WHEN 'cancelled' THEN CASE WHEN NOT (NEW.actor = 'operator' OR substr(NEW.actor, 1, 9) = 'operator:' OR NEW.actor = 'user' OR substr(NEW.actor, 1, 5) = 'user:') THEN RAISE(ABORT, 'reelstate: task: new -> cancelled is only allowed for operator, user') END END
        WHEN 'ready' THEN CASE NEW.status
            WHEN 'new' THEN CASE WHEN NOT (NEW.actor = 'doctor' OR substr(NEW.actor, 1, 7) = 'doctor:' OR NEW.actor = 'keeper' OR substr(NEW.actor, 1, 7) = 'keeper:' OR NEW.actor = 'operator' OR substr(NEW.actor, 1, 9) = 'operator:' OR NEW.actor = 'orchestrator' OR substr(NEW.actor, 1, 13) = 'orchestrator:' OR NEW.actor = 'user' OR substr(NEW.actor, 1, 5) = 'user:') THEN RAISE(ABORT, 'reelstate: task: ready -> new is only allowed for doctor, keeper, operator, orchestrator, user') END
            WHEN 'running' THEN CASE WHEN NOT (NEW.actor = 'worker' OR substr(NEW.actor, 1, 7) = 'worker:') THEN RAISE(ABORT, 'reelstate: task: ready -> running is only allowed for worker') END
            WHEN 'done' THEN CASE WHEN NOT (NEW.actor = 'worker' OR substr(NEW.actor, 1, 7) = 'worker:') THEN RAISE(ABORT, 'reelstate: task: ready -> done is only allowed for worker') END
            WHEN 'error' THEN RAISE(ABORT, 'reelstate: task: ready -> error is not allowed')
            WHEN 'skipped' THEN CASE WHEN NOT (NEW.actor = 'worker' OR substr(NEW.actor, 1, 7) = 'worker:') THEN RAISE(ABORT, 'reelstate: task: ready -> skipped is only allowed for worker') END
            WHEN 'cancelled' THEN CASE WHEN NOT (NEW.actor = 'operator' OR substr(NEW.actor, 1, 9) = 'operator:' OR NEW.actor = 'user' OR substr(NEW.actor, 1, 5) = 'user:') THEN RAISE(ABORT, 'reelstate: task: ready -> cancelled is only allowed for operator, user') END END
        WHEN 'running' THEN CASE NEW.status
            WHEN 'new' THEN CASE WHEN NOT (NEW.actor = 'doctor' OR substr(NEW.actor, 1, 7) = 'doctor:' OR NEW.actor = 'keeper' OR substr(NEW.actor, 1, 7) = 'keeper:' OR NEW.actor = 'operator' OR substr(NEW.actor, 1, 9) = 'operator:' OR NEW.actor = 'worker' OR substr(NEW.actor, 1, 7) = 'worker:') THEN RAISE(ABORT, 'reelstate: task: running -> new is only allowed for doctor, keeper, operator, worker') END
            WHEN 'ready' THEN CASE WHEN NOT (NEW.actor = 'doctor' OR substr(NEW.actor, 1, 7) = 'doctor:' OR NEW.actor = 'keeper' OR substr(NEW.actor, 1, 7) = 'keeper:' OR NEW.actor = 'operator' OR substr(NEW.actor, 1, 9) = 'operator:' OR NEW.actor = 'worker' OR substr(NEW.actor, 1, 7) = 'worker:') THEN RAISE(ABORT, 'reelstate: task: running -> ready is only allowed for doctor, keeper, operator, worker') END
            WHEN 'done' THEN CASE WHEN NOT (NEW.actor = 'worker' OR substr(NEW.actor, 1, 7) = 'worker:') THEN RAISE(ABORT, 'reelstate: task: running -> done is only allowed for worker') END
            WHEN 'error' THEN CASE WHEN NOT (NEW.actor = 'keeper' OR substr(NEW.actor, 1, 7) = 'keeper:' OR NEW.actor = 'worker' OR substr(NEW.actor, 1, 7) = 'worker:') THEN RAISE(ABORT, 'reelstate: task: running -> error is only allowed for keeper, worker') END
            WHEN 'skipped' THEN CASE WHEN NOT (NEW.actor = 'worker' OR substr(NEW.actor, 1, 7) = 'worker:') THEN RAISE(ABORT, 'reelstate: task: running -> skipped is only allowed for worker') END
            WHEN 'cancelled' THEN CASE WHEN NOT (NEW.actor = 'keeper' OR substr(NEW.actor, 1, 7) = 'keeper:' OR NEW.actor = 'operator' OR substr(NEW.actor, 1, 9) = 'operator:' OR NEW.actor = 'user' OR substr(NEW.actor, 1, 5) = 'user:') THEN RAISE(ABORT, 'reelstate: task: running -> cancelled is only allowed for keeper, operator, user') END END
        WHEN 'done' THEN CASE NEW.status
            WHEN 'new' THEN CASE WHEN NOT (NEW.actor = 'operator' OR substr(NEW.actor, 1, 9) = 'operator:' OR NEW.actor = 'user' OR substr(NEW.actor, 1, 5) = 'user:') THEN RAISE(ABORT, 'reelstate: task: done -> new is only allowed for operator, user') END
            WHEN 'ready' THEN CASE WHEN NOT (NEW.actor = 'operator' OR substr(NEW.actor, 1, 9) = 'operator:' OR NEW.actor = 'user' OR substr(NEW.actor, 1, 5) = 'user:') THEN RAISE(ABORT, 'reelstate: task: done -> ready is only allowed for operator, user') END
            WHEN 'running' THEN RAISE(ABORT, 'reelstate: task: done -> running is not allowed')
            WHEN 'error' THEN RAISE(ABORT, 'reelstate: task: done -> error is not allowed')
            WHEN 'skipped' THEN RAISE(ABORT, 'reelstate: task: done -> skipped is not allowed')
            WHEN 'cancelled' THEN RAISE(ABORT, 'reelstate: task: done -> cancelled is not allowed') END
        WHEN 'error' THEN CASE NEW.status
            WHEN 'new' THEN CASE WHEN NOT (NEW.actor = 'doctor' OR substr(NEW.actor, 1, 7) = 'doctor:' OR NEW.actor = 'keeper' OR substr(NEW.actor, 1, 7) = 'keeper:' OR NEW.actor = 'operator' OR substr(NEW.actor, 1, 9) = 'operator:' OR NEW.actor = 'orchestrator' OR substr(NEW.actor, 1, 13) = 'orchestrator:' OR NEW.actor = 'user' OR substr(NEW.actor, 1, 5) = 'user:') THEN RAISE(ABORT, 'reelstate: task: error -> new is only allowed for doctor, keeper, operator, orchestrator, user') END
            WHEN 'ready' THEN CASE WHEN NOT (NEW.actor = 'operator' OR substr(NEW.actor, 1, 9) = 'operator:' OR NEW.actor = 'orchestrator' OR substr(NEW.actor, 1, 13) = 'orchestrator:' OR NEW.actor = 'user' OR substr(NEW.actor, 1, 5) = 'user:') THEN RAISE(ABORT, 'reelstate: task: error -> ready is only allowed for operator, orchestrator, user') END
            WHEN 'running' THEN RAISE(ABORT, 'reelstate: task: error -> running is not allowed')
            WHEN 'done' THEN RAISE(ABORT, 'reelstate: task: error -> done is not allowed')
            WHEN 'skipped' THEN RAISE(ABORT, 'reelstate: task: error -> skipped is not allowed')
            WHEN 'cancelled' THEN CASE WHEN NOT (NEW.actor = 'operator' OR substr(NEW.actor, 1, 9) = 'operator:' OR NEW.actor = 'user' OR substr(NEW.actor, 1, 5) = 'user:') THEN RAISE(ABORT, 'reelstate: task: error -> cancelled is only allowed for operator, user') END END
        WHEN 'skipped' THEN CASE NEW.status
            WHEN 'new' THEN CASE WHEN NOT (NEW.actor = 'operator' OR substr(NEW.actor, 1, 9) = 'operator:' OR NEW.actor = 'user' OR substr(NEW.actor, 1, 5) = 'user:') THEN RAISE(ABORT, 'reelstate: task: skipped -> new is only allowed for operator, user') END
            WHEN 'ready' THEN CASE WHEN NOT (NEW.actor = 'operator' OR substr(NEW.actor, 1, 9) = 'operator:' OR NEW.actor = 'user' OR substr(NEW.actor, 1, 5) = 'user:') THEN RAISE(ABORT, 'reelstate: task: skipped -> ready is only allowed for operator, user') END
            WHEN 'running' THEN RAISE(ABORT, 'reelstate: task: skipped -> running is not allowed')
            WHEN 'done' THEN RAISE(ABORT, 'reelstate: task: skipped -> done is not allowed')
            WHEN 'error' THEN RAISE(ABORT, 'reelstate: task: skipped -> error is not allowed')
            WHEN 'cancelled' THEN RAISE(ABORT, 'reelstate: task: skipped -> cancelled is not allowed') END
        WHEN 'cancelled' THEN CASE NEW.status
            WHEN 'new' THEN RAISE(ABORT, 'reelstate: task: cancelled -> new is not allowed')
            WHEN 'ready' THEN RAISE(ABORT, 'reelstate: task: cancelled -> ready is not allowed')
            WHEN 'running' THEN RAISE(ABORT, 'reelstate: task: cancelled -> running is not allowed')
            WHEN 'done' THEN RAISE(ABORT, 'reelstate: task: cancelled -> done is not allowed')
            WHEN 'error' THEN RAISE(ABORT, 'reelstate: task: cancelled -> error is not allowed')
            WHEN 'skipped' THEN RAISE(ABORT, 'reelstate: task: cancelled -> skipped is not allowed') END END END;
    INSERT INTO events (entity, job_id, stage, part, token, worker_id, data, version, origin, target, actor, reason, at)
    SELECT 'task', NEW.job_id, NEW.stage, NEW.part, NEW.token, NEW.last_worker, CASE WHEN NEW.status = 'error' THEN NEW.error WHEN NEW.status = 'ready' AND NEW.lane < 0 THEN json_object('isolated', json('true'), 'lost', NEW.lost) END, NEW.version, OLD.status, NEW.status, NEW.actor,
           NEW.reason, NEW.changed_at
    WHERE NOT EXISTS (SELECT 1 FROM events WHERE job_id = NEW.job_id AND stage = NEW.stage AND part = NEW.part AND version = NEW.version AND target = NEW.status AND actor = NEW.actor AND entity = 'task+job');
END;

CREATE TRIGGER guard_tasks_delete BEFORE DELETE ON tasks
WHEN NOT EXISTS (SELECT 1 FROM archiving) AND NOT EXISTS (SELECT 1 FROM repairing)
BEGIN
    SELECT RAISE(ABORT, 'reelstate: tasks are not deleted by manual SQL; archive moves old rows');
END;

CREATE TRIGGER guard_tasks_identity AFTER UPDATE OF job_id, stage, part ON tasks WHEN NEW.job_id IS NOT OLD.job_id OR NEW.stage IS NOT OLD.stage OR NEW.part IS NOT OLD.part
BEGIN
    SELECT RAISE(ABORT, 'reelstate: task: its key (job_id, stage, part) never changes');
END;

CREATE TRIGGER guard_tasks_insert AFTER INSERT ON tasks WHEN NEW.version <> 1 OR NEW.status <> 'new' AND NEW.status <> 'ready' OR EXISTS (SELECT 1 FROM events WHERE job_id = NEW.job_id AND stage = NEW.stage AND part = NEW.part)
BEGIN
    SELECT CASE WHEN NEW.version <> 1 OR NEW.status <> 'new' AND NEW.status <> 'ready'
        THEN RAISE(ABORT, 'reelstate: task: a new row must be new or ready at version 1')
        WHEN EXISTS (SELECT 1 FROM events WHERE job_id = NEW.job_id AND stage = NEW.stage AND part = NEW.part) THEN RAISE(ABORT, 'reelstate: task: a row with this key existed before') END;
END;

CREATE TRIGGER guard_tasks_manual AFTER UPDATE OF status ON tasks
WHEN NEW.version = OLD.version AND NEW.status <> OLD.status AND NOT EXISTS (SELECT 1 FROM repairing)
BEGIN
    SELECT CASE OLD.status
        WHEN 'new' THEN CASE NEW.status
            WHEN 'running' THEN RAISE(ABORT, 'reelstate: task: new -> running is not allowed')
            WHEN 'done' THEN RAISE(ABORT, 'reelstate: task: new -> done is not allowed')
            WHEN 'error' THEN RAISE(ABORT, 'reelstate: task: new -> error is not allowed') END
        WHEN 'ready' THEN CASE NEW.status
            WHEN 'error' THEN RAISE(ABORT, 'reelstate: task: ready -> error is not allowed') END
        WHEN 'done' THEN CASE NEW.status
            WHEN 'running' THEN RAISE(ABORT, 'reelstate: task: done -> running is not allowed')
            WHEN 'error' THEN RAISE(ABORT, 'reelstate: task: done -> error is not allowed')
            WHEN 'skipped' THEN RAISE(ABORT, 'reelstate: task: done -> skipped is not allowed')
            WHEN 'cancelled' THEN RAISE(ABORT, 'reelstate: task: done -> cancelled is not allowed') END
        WHEN 'error' THEN CASE NEW.status
            WHEN 'running' THEN RAISE(ABORT, 'reelstate: task: error -> running is not allowed')
            WHEN 'done' THEN RAISE(ABORT, 'reelstate: task: error -> done is not allowed')
            WHEN 'skipped' THEN RAISE(ABORT, 'reelstate: task: error -> skipped is not allowed') END
        WHEN 'skipped' THEN CASE NEW.status
            WHEN 'running' THEN RAISE(ABORT, 'reelstate: task: skipped -> running is not allowed')
            WHEN 'done' THEN RAISE(ABORT, 'reelstate: task: skipped -> done is not allowed')
            WHEN 'error' THEN RAISE(ABORT, 'reelstate: task: skipped -> error is not allowed')
            WHEN 'cancelled' THEN RAISE(ABORT, 'reelstate: task: skipped -> cancelled is not allowed') END
        WHEN 'cancelled' THEN CASE NEW.status
            WHEN 'new' THEN RAISE(ABORT, 'reelstate: task: cancelled -> new is not allowed')
            WHEN 'ready' THEN RAISE(ABORT, 'reelstate: task: cancelled -> ready is not allowed')
            WHEN 'running' THEN RAISE(ABORT, 'reelstate: task: cancelled -> running is not allowed')
            WHEN 'done' THEN RAISE(ABORT, 'reelstate: task: cancelled -> done is not allowed')
            WHEN 'error' THEN RAISE(ABORT, 'reelstate: task: cancelled -> error is not allowed')
            WHEN 'skipped' THEN RAISE(ABORT, 'reelstate: task: cancelled -> skipped is not allowed') END END;
    INSERT INTO events (entity, job_id, stage, part, token, worker_id, version, origin, target, actor, at)
    VALUES ('task', NEW.job_id, NEW.stage, NEW.part, NEW.token, NEW.last_worker, OLD.version + 1, OLD.status, NEW.status, 'sql',
            (julianday('now') - 2440587.5) * 86400.0);
    UPDATE tasks SET version = OLD.version + 1, actor = 'sql', reason = NULL, changed_at = (julianday('now') - 2440587.5) * 86400.0
    WHERE job_id = NEW.job_id AND stage = NEW.stage AND part = NEW.part;
END;

CREATE TRIGGER guard_tasks_times_insert AFTER INSERT ON tasks
WHEN (NEW.lease_expires_at >= '' OR NEW.run_after >= '' OR NEW.ready_at >= '' OR NEW.claimed_at >= '' OR NEW.started_at >= '' OR NEW.progress_at >= '' OR NEW.finished_at >= '' OR NEW.changed_at >= '' OR NEW.finished_at < NEW.started_at) AND NOT EXISTS (SELECT 1 FROM repairing)
BEGIN
    SELECT RAISE(ABORT, 'reelstate: tasks: instants are numbers (unix seconds), and nothing finishes before it starts');
END;

CREATE TRIGGER guard_tasks_times_update AFTER UPDATE OF lease_expires_at, run_after, ready_at, claimed_at, started_at, progress_at, finished_at, changed_at ON tasks
WHEN (NEW.lease_expires_at >= '' OR NEW.run_after >= '' OR NEW.ready_at >= '' OR NEW.claimed_at >= '' OR NEW.started_at >= '' OR NEW.progress_at >= '' OR NEW.finished_at >= '' OR NEW.changed_at >= '' OR NEW.finished_at < NEW.started_at) AND NOT EXISTS (SELECT 1 FROM repairing)
BEGIN
    SELECT RAISE(ABORT, 'reelstate: tasks: instants are numbers (unix seconds), and nothing finishes before it starts');
END;

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

CREATE TABLE tickets (
    digest     TEXT PRIMARY KEY,
    video_id   INTEGER NOT NULL,
    key_id     TEXT NOT NULL,
    created_at REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400.0),
    expires_at REAL NOT NULL
) WITHOUT ROWID;

CREATE INDEX tickets_by_expiry ON tickets (expires_at);

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

CREATE INDEX uploads_by_expiry ON uploads (expires_at);

CREATE INDEX uploads_by_user ON uploads (user_id);

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

CREATE INDEX videos_by_change ON videos (changed_at);

CREATE INDEX videos_by_user ON videos (user_id, id) WHERE user_id <> '';

CREATE INDEX videos_stored ON videos (source) WHERE deleted_at IS NULL AND substr(source, 1, 9) = 'stored://';

CREATE TRIGGER guard_videos_times_insert AFTER INSERT ON videos
WHEN (NEW.created_at >= '' OR NEW.changed_at >= '' OR NEW.deleted_at >= '') AND NOT EXISTS (SELECT 1 FROM repairing)
BEGIN
    SELECT RAISE(ABORT, 'reelstate: videos: instants are numbers (unix seconds), and nothing finishes before it starts');
END;

CREATE TRIGGER guard_videos_times_update AFTER UPDATE OF created_at, changed_at, deleted_at ON videos
WHEN (NEW.created_at >= '' OR NEW.changed_at >= '' OR NEW.deleted_at >= '') AND NOT EXISTS (SELECT 1 FROM repairing)
BEGIN
    SELECT RAISE(ABORT, 'reelstate: videos: instants are numbers (unix seconds), and nothing finishes before it starts');
END;

CREATE TABLE waits (
    job_id        INTEGER PRIMARY KEY,
    group_id      INTEGER,
    after_failure TEXT NOT NULL DEFAULT 'wait'
        CONSTRAINT waits_after_failure CHECK (after_failure IN ('wait', 'cancel', 'start')),
    due           INTEGER NOT NULL DEFAULT 1,
    ended_at      REAL
);

CREATE INDEX waits_by_group ON waits (group_id) WHERE ended_at IS NULL;

CREATE INDEX waits_due ON waits (job_id) WHERE due AND ended_at IS NULL;

CREATE INDEX waits_open ON waits (job_id) WHERE ended_at IS NULL;

CREATE TABLE webhooks (
    id            TEXT PRIMARY KEY,
    kind          TEXT NOT NULL CONSTRAINT webhooks_kind CHECK (kind IN ('webhook', 'callback', 'alert')),
    user_id       TEXT NOT NULL DEFAULT '',
    url           TEXT NOT NULL DEFAULT '',
    events        TEXT NOT NULL DEFAULT '[]',
    description   TEXT NOT NULL DEFAULT '',
    secret        TEXT NOT NULL,
    old_secret    TEXT,
    old_until     REAL,
    enabled       INTEGER NOT NULL DEFAULT 1,
    disabled      TEXT,
    failing_since REAL,
    actor         TEXT NOT NULL DEFAULT 'sql',
    created_at    REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400.0),
    changed_at    REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400.0)
);

CREATE UNIQUE INDEX webhooks_by_user ON webhooks (user_id) WHERE kind = 'callback';

CREATE TRIGGER outbox_webhooks_change AFTER UPDATE OF disabled ON webhooks
WHEN OLD.disabled IS NULL AND NEW.disabled IS NOT NULL AND EXISTS (SELECT 1 FROM webhooks WHERE kind = 'alert')
BEGIN
    INSERT INTO alerts (type, subject, message, at) VALUES ('endpoint_disabled', NEW.id, NEW.disabled, NEW.changed_at);
END;

CREATE TABLE worker_instances (
    id     INTEGER PRIMARY KEY,
    name   TEXT NOT NULL,
    done   INTEGER NOT NULL DEFAULT 0,
    failed INTEGER NOT NULL DEFAULT 0
);

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
    stuck             INTEGER NOT NULL DEFAULT 0,
    CONSTRAINT workers_status CHECK (status IN ('active', 'draining', 'offline')),
    CONSTRAINT workers_kind CHECK (kind IN ('local', 'remote')),
    CONSTRAINT workers_numbers CHECK (slots >= 1 AND version >= 1)
);

CREATE INDEX workers_by_name ON workers (name);

CREATE TRIGGER guard_workers_change AFTER UPDATE OF status, version ON workers
WHEN (NEW.version <> OLD.version AND (NEW.actor <> 'sql' OR NEW.status <> OLD.status
      OR NOT EXISTS (SELECT 1 FROM events WHERE entity = 'worker' AND worker_id = NEW.id AND version = NEW.version))
      OR NEW.version NOT IN (OLD.version, OLD.version + 1))
 AND NOT EXISTS (SELECT 1 FROM repairing)
BEGIN
    SELECT CASE WHEN NEW.version NOT IN (OLD.version, OLD.version + 1)
        THEN RAISE(ABORT, 'reelstate: worker: version grows by one, and token and attempt never go back')
        ELSE CASE OLD.status
        WHEN 'active' THEN CASE NEW.status
            WHEN 'draining' THEN CASE WHEN NOT (NEW.actor = 'operator' OR substr(NEW.actor, 1, 9) = 'operator:' OR NEW.actor = 'worker' OR substr(NEW.actor, 1, 7) = 'worker:') THEN RAISE(ABORT, 'reelstate: worker: active -> draining is only allowed for operator, worker') END
            WHEN 'offline' THEN CASE WHEN NOT (NEW.actor = 'keeper' OR substr(NEW.actor, 1, 7) = 'keeper:' OR NEW.actor = 'worker' OR substr(NEW.actor, 1, 7) = 'worker:') THEN RAISE(ABORT, 'reelstate: worker: active -> offline is only allowed for keeper, worker') END END
        WHEN 'draining' THEN CASE NEW.status
            WHEN 'active' THEN CASE WHEN NOT (NEW.actor = 'operator' OR substr(NEW.actor, 1, 9) = 'operator:') THEN RAISE(ABORT, 'reelstate: worker: draining -> active is only allowed for operator') END
            WHEN 'offline' THEN CASE WHEN NOT (NEW.actor = 'keeper' OR substr(NEW.actor, 1, 7) = 'keeper:' OR NEW.actor = 'worker' OR substr(NEW.actor, 1, 7) = 'worker:') THEN RAISE(ABORT, 'reelstate: worker: draining -> offline is only allowed for keeper, worker') END END
        WHEN 'offline' THEN CASE NEW.status
            WHEN 'active' THEN CASE WHEN NOT (NEW.actor = 'worker' OR substr(NEW.actor, 1, 7) = 'worker:') THEN RAISE(ABORT, 'reelstate: worker: offline -> active is only allowed for worker') END
            WHEN 'draining' THEN RAISE(ABORT, 'reelstate: worker: offline -> draining is not allowed') END END END;
    INSERT INTO events (entity, worker_id, data, version, origin, target, actor, reason, at)
    SELECT 'worker', NEW.id, NULL, NEW.version, OLD.status, NEW.status, NEW.actor,
           NEW.reason, NEW.changed_at
    WHERE NOT EXISTS (SELECT 1 FROM events WHERE false);
END;

CREATE TRIGGER guard_workers_identity AFTER UPDATE OF id ON workers WHEN NEW.id IS NOT OLD.id
BEGIN
    SELECT RAISE(ABORT, 'reelstate: worker: its key (id) never changes');
END;

CREATE TRIGGER guard_workers_insert AFTER INSERT ON workers
BEGIN
    SELECT CASE WHEN NEW.version <> 1 OR NEW.status <> 'active'
        THEN RAISE(ABORT, 'reelstate: worker: a new row must be active at version 1')
        WHEN EXISTS (SELECT 1 FROM events WHERE entity = 'worker' AND worker_id = NEW.id) THEN RAISE(ABORT, 'reelstate: worker: a row with this key existed before') END;
    INSERT INTO events (id, entity, worker_id, version, origin, target, actor, reason, at)
    VALUES (NULL, 'worker', NEW.id, 1, NULL, NEW.status, NEW.actor, NEW.reason, NEW.changed_at);
END;

CREATE TRIGGER guard_workers_manual AFTER UPDATE OF status ON workers
WHEN NEW.version = OLD.version AND NEW.status <> OLD.status AND NOT EXISTS (SELECT 1 FROM repairing)
BEGIN
    SELECT CASE OLD.status
        WHEN 'offline' THEN CASE NEW.status
            WHEN 'draining' THEN RAISE(ABORT, 'reelstate: worker: offline -> draining is not allowed') END END;
    INSERT INTO events (entity, worker_id, version, origin, target, actor, at)
    VALUES ('worker', NEW.id, OLD.version + 1, OLD.status, NEW.status, 'sql',
            (julianday('now') - 2440587.5) * 86400.0);
    UPDATE workers SET version = OLD.version + 1, actor = 'sql', reason = NULL, changed_at = (julianday('now') - 2440587.5) * 86400.0
    WHERE id = NEW.id;
END;

CREATE TRIGGER guard_workers_times_insert AFTER INSERT ON workers
WHEN (NEW.changed_at >= '' OR NEW.registered_at >= '' OR NEW.last_heartbeat_at >= '') AND NOT EXISTS (SELECT 1 FROM repairing)
BEGIN
    SELECT RAISE(ABORT, 'reelstate: workers: instants are numbers (unix seconds), and nothing finishes before it starts');
END;

CREATE TRIGGER guard_workers_times_update AFTER UPDATE OF changed_at, registered_at, last_heartbeat_at ON workers
WHEN (NEW.changed_at >= '' OR NEW.registered_at >= '' OR NEW.last_heartbeat_at >= '') AND NOT EXISTS (SELECT 1 FROM repairing)
BEGIN
    SELECT RAISE(ABORT, 'reelstate: workers: instants are numbers (unix seconds), and nothing finishes before it starts');
END;

CREATE TRIGGER outbox_workers_change AFTER UPDATE OF status ON workers
WHEN OLD.status <> NEW.status AND 'offline' IN (OLD.status, NEW.status) AND EXISTS (SELECT 1 FROM webhooks WHERE kind = 'alert')
BEGIN
    INSERT INTO alerts (type, subject, message, at)
    SELECT CASE NEW.status WHEN 'offline' THEN 'worker_shutdown' ELSE 'worker_startup' END, NEW.name,
           CASE WHEN NEW.status = 'offline' AND substr(NEW.actor, 1, 6) = 'keeper' THEN 'lost on ' ELSE 'on ' END
           || NEW.hostname, NEW.changed_at;
END;

CREATE TRIGGER outbox_workers_insert AFTER INSERT ON workers WHEN EXISTS (SELECT 1 FROM webhooks WHERE kind = 'alert')
BEGIN
    INSERT INTO alerts (type, subject, message, at)
    SELECT CASE NEW.status WHEN 'offline' THEN 'worker_shutdown' ELSE 'worker_startup' END, NEW.name,
           CASE WHEN NEW.status = 'offline' AND substr(NEW.actor, 1, 6) = 'keeper' THEN 'lost on ' ELSE 'on ' END
           || NEW.hostname, NEW.changed_at;
END;
