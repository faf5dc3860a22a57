-- What tasks say of themselves, per tag. A state job is any name with a number of tasks; for a stage of ours it is
-- `job.stage`. The newest version of each state stands in `states`, every version in `state_log`, whose
-- numbers are drawn from those of events, so that one cursor serves both. A deleted job stays as a tombstone, so that
-- one made anew has another generation.
CREATE TABLE state_jobs (
    job_id     TEXT PRIMARY KEY,
    tasks      INTEGER NOT NULL CONSTRAINT state_jobs_tasks CHECK (tasks > 0),
    tags       TEXT NOT NULL DEFAULT '[]',
    generation INTEGER NOT NULL DEFAULT 1,
    created_at REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400.0),
    deleted_at REAL
) WITHOUT ROWID;

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
