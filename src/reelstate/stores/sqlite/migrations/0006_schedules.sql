-- Schedules: jobs that keepers submit at times given by a cron expression or an interval.

-- `next_tick` is the next time of the timing and `next_run_at` when its job is submitted; both are null for a schedule that
-- is paused or has ended. Every change of the row increments `version`. A tick is run by the transaction that moves
-- `next_tick` past it, so it is run once.
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
CREATE INDEX schedules_due ON schedules (next_run_at) WHERE next_run_at IS NOT NULL;
CREATE INDEX schedules_by_user ON schedules (user_id);

-- What became of ticks, triggers and backfills. `key` is the time of a tick, so that a backfill finds those that have run.
-- `active` is unset once its job is seen to be inactive.
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
CREATE INDEX schedule_runs_by_time ON schedule_runs (schedule_id, at, tick);
CREATE INDEX schedule_runs_active ON schedule_runs (schedule_id) WHERE active;
CREATE INDEX schedule_runs_queued ON schedule_runs (schedule_id, tick) WHERE outcome = 'queued';
CREATE INDEX schedule_runs_by_job ON schedule_runs (job_id) WHERE job_id IS NOT NULL;
CREATE INDEX schedule_runs_by_age ON schedule_runs (at);
