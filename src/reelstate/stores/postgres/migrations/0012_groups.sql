-- Groups of jobs, and jobs that wait for other jobs or for groups. A job without either has no row here.

-- A round of a group begins with its first job, and ends when none of its jobs is active; a new job, or one that runs again,
-- begins the next. `finished_at` is set while no round is open. The transaction that sets it writes the event.
CREATE TABLE reelstate.groups (
    id           bigint PRIMARY KEY,
    user_id      text NOT NULL DEFAULT '',
    name         text NOT NULL,
    jobs         integer NOT NULL DEFAULT 0,
    round        integer NOT NULL DEFAULT 1,
    callback_id  text,
    callback_url text,
    callback_lane text,
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    finished_at  timestamptz,
    CONSTRAINT groups_name UNIQUE (user_id, name)
);
CREATE INDEX groups_by_name ON reelstate.groups (name);

-- The row of a job stays when the job is archived. `outcome` is the status in which it ended, and is empty while it is active;
-- a trigger keeps it. So a group counts its jobs without reading them.
CREATE TABLE reelstate.group_jobs (
    job_id   bigint PRIMARY KEY,
    group_id bigint NOT NULL,
    outcome  text CONSTRAINT group_jobs_outcome
        CHECK (outcome IS NULL OR outcome IN ('completed', 'failed', 'quarantined', 'cancelled'))
);
CREATE INDEX group_jobs_by_group ON reelstate.group_jobs (group_id, job_id);
CREATE INDEX group_jobs_by_outcome ON reelstate.group_jobs (group_id, outcome);

-- A job that was submitted to wait. While `ended_at` is empty, none of its stages is opened. `due` asks the keeper to look
-- whether what it waits for has completed. `group_id` is the group that the job itself is in.
CREATE TABLE reelstate.waits (
    job_id        bigint PRIMARY KEY,
    group_id      bigint,
    after_failure text NOT NULL DEFAULT 'wait'
        CONSTRAINT waits_after_failure CHECK (after_failure IN ('wait', 'cancel', 'start')),
    due           boolean NOT NULL DEFAULT true,
    ended_at      timestamptz
);
CREATE INDEX waits_open ON reelstate.waits (job_id) WHERE ended_at IS NULL;
CREATE INDEX waits_due ON reelstate.waits (job_id) WHERE due AND ended_at IS NULL;
CREATE INDEX waits_by_group ON reelstate.waits (group_id) WHERE ended_at IS NULL;

-- What a job waits for, or has waited for: jobs and groups, by their ids.
CREATE TABLE reelstate.dependencies (
    job_id bigint NOT NULL,
    kind   text NOT NULL CONSTRAINT dependencies_kind CHECK (kind IN ('job', 'group')),
    target bigint NOT NULL,
    PRIMARY KEY (job_id, kind, target)
);
CREATE INDEX dependencies_by_target ON reelstate.dependencies (kind, target, job_id);

-- Jobs that have ended, or run again, and that a group or a waiting job depends on. The keeper takes them out. `position` is
-- the last waiting job that was made due, where there are more than one transaction may write.
CREATE TABLE reelstate.ended_jobs (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job_id   bigint NOT NULL,
    active   boolean NOT NULL DEFAULT false,
    position bigint NOT NULL DEFAULT 0
);
