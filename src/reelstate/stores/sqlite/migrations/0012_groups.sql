-- Groups of jobs, and jobs that wait for other jobs or for groups. A job without either has no row here.

-- A round of a group begins with its first job, and ends when none of its jobs is active; a new job, or one that runs again,
-- begins the next. `finished_at` is set while no round is open. The transaction that sets it writes the event.
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

-- The row of a job stays when the job is archived. `outcome` is the status in which it ended, and is empty while it is active;
-- a trigger keeps it. So a group counts its jobs without reading them.
CREATE TABLE group_jobs (
    job_id   INTEGER PRIMARY KEY,
    group_id INTEGER NOT NULL,
    outcome  TEXT CONSTRAINT group_jobs_outcome
        CHECK (outcome IS NULL OR outcome IN ('completed', 'failed', 'quarantined', 'cancelled'))
);
CREATE INDEX group_jobs_by_group ON group_jobs (group_id, job_id);
CREATE INDEX group_jobs_by_outcome ON group_jobs (group_id, outcome);

-- A job that was submitted to wait. While `ended_at` is empty, none of its stages is opened. `due` asks the keeper to look
-- whether what it waits for has completed. `group_id` is the group that the job itself is in.
CREATE TABLE waits (
    job_id        INTEGER PRIMARY KEY,
    group_id      INTEGER,
    after_failure TEXT NOT NULL DEFAULT 'wait'
        CONSTRAINT waits_after_failure CHECK (after_failure IN ('wait', 'cancel', 'start')),
    due           INTEGER NOT NULL DEFAULT 1,
    ended_at      REAL
);
CREATE INDEX waits_open ON waits (job_id) WHERE ended_at IS NULL;
CREATE INDEX waits_due ON waits (job_id) WHERE due AND ended_at IS NULL;
CREATE INDEX waits_by_group ON waits (group_id) WHERE ended_at IS NULL;

-- What a job waits for, or has waited for: jobs and groups, by their ids.
CREATE TABLE dependencies (
    job_id INTEGER NOT NULL,
    kind   TEXT NOT NULL CONSTRAINT dependencies_kind CHECK (kind IN ('job', 'group')),
    target INTEGER NOT NULL,
    PRIMARY KEY (job_id, kind, target)
);
CREATE INDEX dependencies_by_target ON dependencies (kind, target, job_id);

-- Jobs that have ended, or run again, and that a group or a waiting job depends on. The keeper takes them out. `position` is
-- the last waiting job that was made due, where there are more than one transaction may write.
CREATE TABLE ended_jobs (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    job_id   INTEGER NOT NULL,
    active   INTEGER NOT NULL DEFAULT 0,
    position INTEGER NOT NULL DEFAULT 0
);
