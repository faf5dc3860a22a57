-- The whole schema, in the order in which data travels: a pipeline is declared, a job is submitted, its stages open, its
-- tasks are claimed by workers, and events, logs, steps and states record what happens. Triggers that guard the tables
-- are generated from the state machines and installed after the migrations.
--
-- Each constraint of a guarded table is a statement of its own, so that doctor can restore exactly the missing one.
-- There are no foreign keys: the engine writes rows in the right order, and doctor looks for orphans.

-- == The store itself ==

-- The epoch of the event stream, the digest of the guards, the oldest compatible schema.
CREATE TABLE reelstate.facts (
    name  text PRIMARY KEY,
    value text NOT NULL
);
INSERT INTO reelstate.facts VALUES ('epoch', substr(md5(random()::text || clock_timestamp()::text), 1, 12));

CREATE SEQUENCE reelstate.ids;

-- Time-ordered ids that fit into a JavaScript number: seconds since 2025 in the high bits, a counter in the low 22.
CREATE FUNCTION reelstate.new_id() RETURNS bigint LANGUAGE sql VOLATILE AS $$
    SELECT (floor(extract(epoch FROM clock_timestamp()))::bigint - 1735689600) << 22
           | (nextval('reelstate.ids') & 4194303)
$$;

-- == Pipelines ==

-- One row per version of a pipeline. New jobs run the pinned version, or else the one declared last.
CREATE TABLE reelstate.pipelines (
    id          integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name        text NOT NULL,
    digest      text NOT NULL,
    graph       jsonb NOT NULL,
    declared_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    pinned      boolean NOT NULL DEFAULT false,
    UNIQUE (name, digest)
);

-- A lane is a queue of tasks that the same workers may run. Isolated tasks wait in the lane with the negative number.
CREATE TABLE reelstate.lanes (
    id       integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    pipeline text NOT NULL,
    needs    text[] NOT NULL,
    prefers  text[] NOT NULL,
    UNIQUE (pipeline, needs, prefers)
);

-- == Jobs ==

-- `request` finds the job of a submission whose answer was lost. `flagged` says why an operator should look at the job.
CREATE TABLE reelstate.jobs (
    id           bigint PRIMARY KEY,
    pipeline_id  integer NOT NULL,
    user_id      text NOT NULL DEFAULT '',
    status       text NOT NULL DEFAULT 'pending',
    phase        text NOT NULL DEFAULT 'processing',
    priority     smallint NOT NULL DEFAULT 5,
    version      integer NOT NULL DEFAULT 1,
    actor        text NOT NULL DEFAULT 'sql',
    reason       text,
    run_after    timestamptz,
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    started_at   timestamptz,
    changed_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    finished_at  timestamptz,
    inconsistent text,
    spec         jsonb NOT NULL DEFAULT '{}',
    error        jsonb,
    degraded     jsonb,
    resource_id  bigint,
    request      bigint,
    flagged      text,
    flagged_at   timestamptz
) WITH (fillfactor = 80);
ALTER TABLE reelstate.jobs ADD CONSTRAINT jobs_state CHECK (CASE
    WHEN status IN ('completed', 'failed', 'quarantined', 'cancelled') THEN finished_at IS NOT NULL
    ELSE finished_at IS NULL AND status IN ('pending', 'processing', 'validating', 'planning', 'downloading_inputs',
        'uploading_outputs') END);
ALTER TABLE reelstate.jobs ADD CONSTRAINT jobs_numbers CHECK (priority >= 0 AND priority <= 10 AND version >= 1
    AND phase IN ('processing', 'validating', 'planning', 'downloading_inputs', 'uploading_outputs'));
ALTER TABLE reelstate.jobs ADD CONSTRAINT jobs_times CHECK (finished_at >= started_at);
-- Most jobs are completed: a listing of those walks the primary key, and completing a job touches one index.
CREATE INDEX jobs_by_status ON reelstate.jobs (status, id) WHERE status <> 'completed';
CREATE INDEX jobs_by_user ON reelstate.jobs (user_id, id) WHERE user_id <> '';
CREATE INDEX jobs_by_resource ON reelstate.jobs (resource_id, id) WHERE resource_id IS NOT NULL;
CREATE INDEX jobs_by_resource_finish ON reelstate.jobs (finished_at) WHERE resource_id IS NOT NULL;
CREATE UNIQUE INDEX jobs_by_request ON reelstate.jobs (request) WHERE request IS NOT NULL;
-- The keeper looks every second for jobs that stopped recently. The condition on `finished_at`, which all of them have,
-- keeps the index out of the plans of listings, which do not repeat it.
CREATE INDEX jobs_stopped ON reelstate.jobs (changed_at)
    WHERE status IN ('failed', 'quarantined') AND finished_at IS NOT NULL;
-- The few jobs of a resource without outputs: not completed, or set to completed by an operator.
CREATE INDEX jobs_by_resource_unready ON reelstate.jobs (resource_id)
    WHERE resource_id IS NOT NULL AND (status <> 'completed' OR reason IS NOT NULL);
CREATE INDEX jobs_flagged ON reelstate.jobs (id) WHERE flagged IS NOT NULL;

CREATE TABLE reelstate.idempotency (
    user_id    text NOT NULL,
    key        text NOT NULL,
    digest     text NOT NULL,
    job_id     bigint NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (user_id, key)
);

-- == Stages ==

-- A row exists once the stage has been opened; `open` is false while it waits to be opened again. `sole` marks the only
-- stage of a pipeline: closing it completes the job.
CREATE TABLE reelstate.stages (
    job_id    bigint NOT NULL,
    stage     smallint NOT NULL,
    open      boolean NOT NULL DEFAULT true,
    sole      boolean NOT NULL DEFAULT false,
    version   integer NOT NULL DEFAULT 1,
    total     integer NOT NULL,
    done      integer NOT NULL DEFAULT 0,
    skipped   integer NOT NULL DEFAULT 0,
    failed    integer NOT NULL DEFAULT 0,
    opened_at timestamptz NOT NULL,
    PRIMARY KEY (job_id, stage)
) WITH (fillfactor = 70);
ALTER TABLE reelstate.stages ADD CONSTRAINT stages_counters CHECK (total >= 0 AND done >= 0 AND skipped >= 0
    AND failed >= 0 AND done + skipped + failed <= total);

-- == Tasks ==

-- `lost` counts lost leases, `lost_alone` those of runs that were alone on their worker. From `isolate_after` losses on
-- the task is isolated; after `max_lost` losses alone it is quarantined. `flag_after` is the time without progress after
-- which the job is flagged (null: the deployment's setting).
CREATE TABLE reelstate.tasks (
    job_id           bigint NOT NULL,
    stage            smallint NOT NULL,
    priority         smallint NOT NULL DEFAULT 5,
    part             integer NOT NULL,
    version          integer NOT NULL DEFAULT 1,
    lane             integer NOT NULL,
    token            bigint NOT NULL DEFAULT 0,
    last_worker      bigint,
    changed_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    attempt          smallint NOT NULL DEFAULT 0,
    max_attempts     smallint NOT NULL DEFAULT 3,
    lost             smallint NOT NULL DEFAULT 0,
    lost_alone       smallint NOT NULL DEFAULT 0,
    status           text NOT NULL DEFAULT 'new',
    actor            text NOT NULL DEFAULT 'sql',
    reason           text,
    worker_id        bigint,
    lease_expires_at timestamptz,
    run_after        timestamptz,
    ready_at         timestamptz,
    claimed_at       timestamptz,
    started_at       timestamptz,
    progress_at      timestamptz,
    finished_at      timestamptz,
    lease            real NOT NULL DEFAULT 60,
    stall_after      real,
    timeout          real,
    percent          real NOT NULL DEFAULT 0,
    max_lost         smallint NOT NULL DEFAULT 3,
    alone            boolean NOT NULL DEFAULT false,
    step             text,
    message          text,
    input            jsonb,
    checkpoint       jsonb,
    result           jsonb,
    error            jsonb,
    isolate_after    smallint NOT NULL DEFAULT 2,
    flag_after       real
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0,
    autovacuum_analyze_scale_factor = 0.05);
ALTER TABLE reelstate.tasks ADD CONSTRAINT tasks_pkey PRIMARY KEY (job_id, stage, part);
-- What each status requires of the lease, `finished_at` and the next run. One expression, because every write checks it.
ALTER TABLE reelstate.tasks ADD CONSTRAINT tasks_state CHECK (CASE status
    WHEN 'ready' THEN worker_id IS NULL AND lease_expires_at IS NULL AND finished_at IS NULL AND run_after IS NULL
        AND ready_at IS NOT NULL
    WHEN 'running' THEN worker_id IS NOT NULL AND lease_expires_at IS NOT NULL AND finished_at IS NULL
        AND run_after IS NULL
    WHEN 'error' THEN worker_id IS NULL AND lease_expires_at IS NULL AND (finished_at IS NULL) = (run_after IS NOT NULL)
    WHEN 'new' THEN worker_id IS NULL AND lease_expires_at IS NULL AND finished_at IS NULL
    ELSE status IN ('done', 'skipped', 'cancelled') AND worker_id IS NULL AND lease_expires_at IS NULL
        AND finished_at IS NOT NULL AND run_after IS NULL END);
ALTER TABLE reelstate.tasks ADD CONSTRAINT tasks_numbers CHECK (attempt >= 0 AND attempt <= max_attempts
    AND lost_alone >= 0 AND lost_alone <= lost AND part >= 0 AND stage >= 0 AND priority >= 0 AND priority <= 10
    AND version >= 1 AND token >= 0 AND percent >= 0 AND percent <= 100 AND lane <> 0);
ALTER TABLE reelstate.tasks ADD CONSTRAINT tasks_times CHECK (finished_at >= started_at);
-- The order of claims, with claimable tasks only.
CREATE INDEX tasks_ready ON reelstate.tasks (lane, priority DESC, job_id, stage, part) WHERE status = 'ready';
-- Not on the expiry: renewing a lease must not touch an index.
CREATE INDEX tasks_leased ON reelstate.tasks (worker_id) WHERE worker_id IS NOT NULL;
CREATE INDEX tasks_due ON reelstate.tasks (run_after) WHERE run_after IS NOT NULL;

-- == Events ==

-- `xid` makes a cursor safe: a reader stops before the oldest transaction that is still open. Sessions get ids in blocks:
-- they grow within a transaction, and between transactions `xid` decides. `stage` and `part` are -1 where the event is
-- about the whole job or stage.
CREATE TABLE reelstate.events (
    id        bigint GENERATED ALWAYS AS IDENTITY (CACHE 500),
    xid       xid8 NOT NULL DEFAULT pg_current_xact_id(),
    entity    text NOT NULL,
    job_id    bigint,
    stage     smallint NOT NULL DEFAULT -1,
    part      integer NOT NULL DEFAULT -1,
    worker_id bigint,
    version   integer NOT NULL,
    token     bigint,
    at        timestamptz NOT NULL DEFAULT clock_timestamp(),
    origin    text,
    target    text NOT NULL,
    actor     text NOT NULL,
    reason    text,
    data      jsonb,
    PRIMARY KEY (xid, id)
);
ALTER TABLE reelstate.events ADD CONSTRAINT events_entity
    CHECK (entity IN ('job', 'stage', 'task', 'worker', 'finding'));
CREATE UNIQUE INDEX events_by_entity ON reelstate.events (job_id, stage, part, version) WHERE job_id IS NOT NULL;
CREATE UNIQUE INDEX events_by_worker ON reelstate.events (worker_id, version) WHERE entity = 'worker';
-- All findings of a store share one sequence of versions.
CREATE UNIQUE INDEX events_by_finding ON reelstate.events (version) WHERE entity = 'finding';

-- == Workers ==

-- `stuck` counts the handlers that do not stop.
CREATE TABLE reelstate.workers (
    id                bigint PRIMARY KEY,
    name              text NOT NULL,
    hostname          text NOT NULL,
    software          text NOT NULL,
    kind              text NOT NULL DEFAULT 'local',
    slots             integer NOT NULL DEFAULT 1,
    capabilities      text[] NOT NULL DEFAULT '{}',
    pipelines         text[] NOT NULL DEFAULT '{}',
    metadata          jsonb,
    status            text NOT NULL DEFAULT 'active',
    version           integer NOT NULL DEFAULT 1,
    actor             text NOT NULL DEFAULT 'sql',
    reason            text,
    changed_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
    registered_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    last_heartbeat_at timestamptz,
    stuck             integer NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
ALTER TABLE reelstate.workers ADD CONSTRAINT workers_status CHECK (status IN ('active', 'draining', 'offline'));
ALTER TABLE reelstate.workers ADD CONSTRAINT workers_kind CHECK (kind IN ('local', 'remote'));
ALTER TABLE reelstate.workers ADD CONSTRAINT workers_numbers CHECK (slots >= 1 AND version >= 1);
CREATE INDEX workers_by_name ON reelstate.workers (name);

-- What remains of a worker instance after its row in `workers` is pruned: its name, for the tasks and events that refer
-- to it, and the runs it completed and failed. Completions update this row, because claims lock the one in `workers`.
CREATE TABLE reelstate.worker_instances (
    id     bigint PRIMARY KEY,
    name   text NOT NULL,
    done   bigint NOT NULL DEFAULT 0,
    failed bigint NOT NULL DEFAULT 0
);

-- Workers that an operator enabled or disabled, by name.
CREATE TABLE reelstate.worker_names (
    name       text PRIMARY KEY,
    enabled    boolean NOT NULL DEFAULT true,
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- == Logs and steps ==

CREATE TABLE reelstate.logs (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job_id   bigint NOT NULL,
    stage    smallint NOT NULL,
    part     integer NOT NULL,
    token    bigint NOT NULL,
    at       timestamptz NOT NULL,
    level    text NOT NULL,
    message  text NOT NULL,
    metadata jsonb,
    xid      xid8 NOT NULL DEFAULT pg_current_xact_id()
);
-- The order of commit, as for events.
CREATE INDEX logs_by_position ON reelstate.logs (job_id, xid, id);

-- Commands and other steps of runs. A run numbers its own steps, so that one reported twice is stored once.
CREATE TABLE reelstate.steps (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job_id     bigint NOT NULL,
    stage      smallint NOT NULL,
    part       integer NOT NULL,
    token      bigint NOT NULL,
    number     integer NOT NULL,
    at         timestamptz NOT NULL,
    argv       jsonb NOT NULL,
    exit_code  integer,
    seconds    double precision NOT NULL,
    output     text NOT NULL,
    type       text NOT NULL DEFAULT 'command',
    started_at timestamptz
);
CREATE INDEX steps_by_job ON reelstate.steps (job_id, id);
CREATE UNIQUE INDEX steps_by_run ON reelstate.steps (job_id, stage, part, token, number);

-- == States that tasks publish ==

-- A state job is any name with a number of tasks; for a stage of a job it is `job.stage`. A deleted one stays as a
-- tombstone, so that the next of its name gets another generation. The log before the floor has been deleted: an older
-- cursor is reported as expired.
CREATE TABLE reelstate.state_jobs (
    job_id     text PRIMARY KEY,
    tasks      integer NOT NULL CONSTRAINT state_jobs_tasks CHECK (tasks > 0),
    tags       text[] NOT NULL DEFAULT '{}',
    generation integer NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    deleted_at timestamptz,
    floor_xid  xid8 NOT NULL DEFAULT '0',
    floor_id   bigint NOT NULL DEFAULT 0
);

-- The newest version of each state.
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

-- Every version of each state. Ids come from the sequence of events, so that one cursor covers both.
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
CREATE INDEX state_log_by_position ON reelstate.state_log (xid, id);

-- == Keeper ==

-- One row that all keepers share: the leader and its term, the last sign of any keeper, the last complete sweep, and the
-- grace period that follows a time without keepers: leases that expired since `gap_since` are extended. `findings` is the
-- version of the last event about a finding.
CREATE TABLE reelstate.keeper (
    singleton        boolean PRIMARY KEY DEFAULT true CHECK (singleton),
    leader           text,
    lead_renewed_at  timestamptz,
    lead_seconds     double precision NOT NULL DEFAULT 0,
    seen_at          timestamptz,
    swept_at         timestamptz,
    grace_started_at timestamptz,
    grace_until      timestamptz,
    grace_seconds    double precision NOT NULL DEFAULT 0,
    findings         integer NOT NULL DEFAULT 0,
    gap_since        timestamptz
);
INSERT INTO reelstate.keeper DEFAULT VALUES;

-- What the quick checks find at present. Events record when a finding appears and when it is gone.
CREATE TABLE reelstate.findings (
    name     text NOT NULL,
    job_id   bigint NOT NULL,
    stage    smallint NOT NULL,
    part     integer NOT NULL,
    subject  text NOT NULL,
    found_at timestamptz NOT NULL,
    PRIMARY KEY (name, job_id, stage, part, subject)
);

-- == Access over HTTP ==

-- API keys, dashboard sessions opened with one, and codes that can be exchanged once for such a session. Secrets are shown
-- once and not stored: `digest` can only be compared with.
CREATE TABLE reelstate.keys (
    id         text PRIMARY KEY,
    kind       text NOT NULL CONSTRAINT keys_kind CHECK (kind IN ('key', 'session', 'code')),
    name       text NOT NULL,
    user_id    text NOT NULL DEFAULT '',
    scopes     text[] NOT NULL,
    digest     text NOT NULL,
    parent     text,
    actor      text NOT NULL DEFAULT 'sql',
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at timestamptz,
    revoked_at timestamptz,
    used_at    timestamptz
);
CREATE INDEX keys_by_name ON reelstate.keys (name) WHERE kind = 'key';

-- Secrets with which the servers sign the permits of remote workers. Each is created on first use.
CREATE TABLE reelstate.secrets (
    name       text PRIMARY KEY,
    secret     text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- == Video library ==

-- A version of a video is a job with its id as `resource_id`, so the status of a video is read from its versions. `pinned` is the
-- version an operator went back to, `published` the version at the public address: written after the files are, so that
-- an interrupted publication is repeated.
CREATE TABLE reelstate.videos (
    id         bigint PRIMARY KEY,
    title      text NOT NULL,
    source     text NOT NULL,
    user_id    text NOT NULL DEFAULT '',
    pinned     bigint,
    version    integer NOT NULL DEFAULT 1,
    actor      text NOT NULL DEFAULT 'sql',
    reason     text,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    deleted_at timestamptz,
    published  bigint
);
CREATE INDEX videos_by_user ON reelstate.videos (user_id, id) WHERE user_id <> '';
CREATE INDEX videos_by_change ON reelstate.videos (changed_at);
-- Uploaded sources can't be fetched again from elsewhere.
CREATE INDEX videos_stored ON reelstate.videos (source) WHERE deleted_at IS NULL AND substr(source, 1, 9) = 'stored://';

-- Versions that can't be played or pinned any more. Their files are deleted after the row is written and `swept_at` is set
-- after that: an interrupted deletion leaves a row that names what is still to be deleted.
CREATE TABLE reelstate.removed_versions (
    job_id     bigint PRIMARY KEY,
    video_id   bigint NOT NULL,
    removed_at timestamptz NOT NULL,
    swept_at   timestamptz
);
CREATE INDEX removed_versions_unswept ON reelstate.removed_versions (job_id) WHERE swept_at IS NULL;

-- Uploads of source videos. Only the first `received` bytes of the file on the server's disk count. `digest` is the sha256
-- that the client announced, `sha256` that of the complete file. Finished uploads count towards a user's quota too.
CREATE TABLE reelstate.uploads (
    id         text PRIMARY KEY,
    user_id    text NOT NULL DEFAULT '',
    name       text NOT NULL DEFAULT '',
    length     bigint,
    received   bigint NOT NULL DEFAULT 0,
    digest     text,
    sha256     text,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at timestamptz NOT NULL,
    CONSTRAINT uploads_received CHECK (received >= 0 AND (length IS NULL OR received <= length)),
    CONSTRAINT uploads_whole CHECK (sha256 IS NULL OR length IS NOT NULL AND received = length)
);
CREATE INDEX uploads_by_user ON reelstate.uploads (user_id);
CREATE INDEX uploads_by_expiry ON reelstate.uploads (expires_at);

-- Tickets let a player fetch the files of one video for a while. They are shown once: only their digest is stored.
CREATE TABLE reelstate.tickets (
    digest     text PRIMARY KEY,
    video_id   bigint NOT NULL,
    key_id     text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at timestamptz NOT NULL
);
CREATE INDEX tickets_by_expiry ON reelstate.tickets (expires_at);
