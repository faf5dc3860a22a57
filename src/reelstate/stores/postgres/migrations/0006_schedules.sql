-- Schedules: jobs that keepers submit at times given by a cron expression or an interval.

-- `next_tick` is the next time of the timing and `next_run_at` when its job is submitted; both are null for a schedule that
-- is paused or has ended. Every change of the row increments `version`. A tick is run by the transaction that moves
-- `next_tick` past it, so it is run once.
CREATE TABLE reelstate.schedules (
    id              bigint PRIMARY KEY,
    name            text NOT NULL CONSTRAINT schedules_name UNIQUE,
    pipeline        text NOT NULL,
    spec            jsonb NOT NULL,
    priority        smallint NOT NULL,
    user_id         text NOT NULL DEFAULT '',
    timing          text NOT NULL,
    timezone        text NOT NULL DEFAULT 'UTC',
    overlap         text NOT NULL DEFAULT 'skip'
        CONSTRAINT schedules_overlap CHECK (overlap IN ('skip', 'queue_one', 'queue_all', 'cancel_other', 'allow')),
    catch_up        text NOT NULL DEFAULT 'latest'
        CONSTRAINT schedules_catch_up CHECK (catch_up IN ('latest', 'all', 'none')),
    catch_up_window double precision NOT NULL DEFAULT 86400,
    jitter          double precision NOT NULL DEFAULT 0,
    paused          boolean NOT NULL DEFAULT false,
    note            text NOT NULL DEFAULT '',
    starts_at       timestamptz,
    ends_at         timestamptz,
    next_tick       timestamptz,
    next_run_at     timestamptz,
    version         integer NOT NULL DEFAULT 1,
    actor           text NOT NULL DEFAULT 'sql',
    created_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    changed_at      timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX schedules_due ON reelstate.schedules (next_run_at) WHERE next_run_at IS NOT NULL;
CREATE INDEX schedules_by_user ON reelstate.schedules (user_id);

-- What became of ticks, triggers and backfills. `key` is the time of a tick, so that a backfill finds those that have run.
-- `active` is unset once its job is seen to be inactive.
CREATE TABLE reelstate.schedule_runs (
    schedule_id bigint NOT NULL,
    key         text NOT NULL,
    tick        timestamptz NOT NULL,
    source      text NOT NULL
        CONSTRAINT schedule_runs_source CHECK (source IN ('tick', 'trigger', 'backfill')),
    outcome     text NOT NULL
        CONSTRAINT schedule_runs_outcome CHECK (outcome IN ('submitted', 'queued', 'skipped', 'missed', 'failed')),
    job_id      bigint,
    reason      text,
    active      boolean NOT NULL DEFAULT false,
    at          timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (schedule_id, key)
);
CREATE INDEX schedule_runs_by_time ON reelstate.schedule_runs (schedule_id, at, tick);
CREATE INDEX schedule_runs_active ON reelstate.schedule_runs (schedule_id) WHERE active;
CREATE INDEX schedule_runs_queued ON reelstate.schedule_runs (schedule_id, tick) WHERE outcome = 'queued';
CREATE INDEX schedule_runs_by_job ON reelstate.schedule_runs (job_id) WHERE job_id IS NOT NULL;
CREATE INDEX schedule_runs_by_age ON reelstate.schedule_runs (at);
