-- What tasks say of themselves, per tag. A state job is any name with a number of tasks; for a stage of ours it is
-- `job.stage`. The newest version of each state stands in `states`, every version in `state_log`, whose place in the feed
-- is told by the same pair (transaction, number) as that of an event. A deleted job stays as a tombstone, so that one
-- made anew has another generation.
CREATE TABLE reelstate.state_jobs (
    job_id     text PRIMARY KEY,
    tasks      integer NOT NULL CONSTRAINT state_jobs_tasks CHECK (tasks > 0),
    tags       text[] NOT NULL DEFAULT '{}',
    generation integer NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    deleted_at timestamptz
);

CREATE TABLE reelstate.states (
    job_id         text NOT NULL,
    generation     integer NOT NULL,
    task           integer NOT NULL,
    tag            text NOT NULL,
    status         integer NOT NULL,
    severity       text NOT NULL CONSTRAINT states_severity CHECK (severity IN ('info', 'warning', 'error')),
    message        text NOT NULL,
    payload        jsonb,
    schema_version integer NOT NULL,
    version        integer NOT NULL,
    event_id       text NOT NULL,
    at             timestamptz NOT NULL,
    PRIMARY KEY (job_id, task, tag)
);

CREATE TABLE reelstate.state_log (
    xid            xid8 NOT NULL DEFAULT pg_current_xact_id(),
    id             bigint NOT NULL DEFAULT nextval(pg_get_serial_sequence('reelstate.events', 'id')),
    job_id         text NOT NULL,
    generation     integer NOT NULL,
    task           integer NOT NULL,
    tag            text NOT NULL,
    status         integer NOT NULL,
    severity       text NOT NULL,
    message        text NOT NULL,
    payload        jsonb,
    schema_version integer NOT NULL,
    version        integer NOT NULL,
    event_id       text NOT NULL,
    at             timestamptz NOT NULL,
    PRIMARY KEY (job_id, generation, xid, id)
);
CREATE UNIQUE INDEX state_log_by_version ON reelstate.state_log (job_id, generation, task, tag, version);
CREATE UNIQUE INDEX state_log_by_event ON reelstate.state_log (job_id, generation, task, tag, event_id);
