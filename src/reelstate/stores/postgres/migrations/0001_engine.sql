-- The engine's tables. Guards (triggers) are generated from the machines and installed after the migrations.

CREATE SEQUENCE reelstate.ids;

-- Time-ordered ids that a JavaScript number can hold: seconds since 2025 in the high bits, a counter in the low 22.
CREATE FUNCTION reelstate.new_id() RETURNS bigint LANGUAGE sql VOLATILE AS $$
    SELECT (floor(extract(epoch FROM clock_timestamp()))::bigint - 1735689600) << 22
           | (nextval('reelstate.ids') & 4194303)
$$;

-- What the store says of itself: the epoch of its event stream, the digest of its guards.
CREATE TABLE reelstate.facts (
    name  text PRIMARY KEY,
    value text NOT NULL
);
INSERT INTO reelstate.facts VALUES ('epoch', substr(md5(random()::text || clock_timestamp()::text), 1, 12));

CREATE TABLE reelstate.pipelines (
    id          integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name        text NOT NULL,
    digest      text NOT NULL,
    graph       jsonb NOT NULL,
    declared_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    UNIQUE (name, digest)
);

CREATE TABLE reelstate.lanes (
    id       integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    pipeline text NOT NULL,
    needs    text[] NOT NULL,
    prefers  text[] NOT NULL,
    UNIQUE (pipeline, needs, prefers)
);

CREATE TABLE reelstate.jobs (
    id          bigint PRIMARY KEY,
    pipeline_id integer NOT NULL,
    user_id     text NOT NULL DEFAULT '',
    status      text NOT NULL DEFAULT 'pending',
    phase       text NOT NULL DEFAULT 'processing',
    priority    smallint NOT NULL DEFAULT 5,
    version     integer NOT NULL DEFAULT 1,
    actor       text NOT NULL DEFAULT 'sql',
    reason      text,
    run_after   timestamptz,
    created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    started_at  timestamptz,
    changed_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    finished_at timestamptz,
    suspect     text,
    spec        jsonb NOT NULL DEFAULT '{}',
    error       jsonb,
    degraded    jsonb
) WITH (fillfactor = 80);
-- Completed jobs are most jobs: whoever lists those walks the primary key, so that completing touches one index.
CREATE INDEX jobs_by_status ON reelstate.jobs (status, id) WHERE status <> 'completed';
CREATE INDEX jobs_by_user ON reelstate.jobs (user_id, id) WHERE user_id <> '';

CREATE TABLE reelstate.idempotency (
    user_id    text NOT NULL,
    key        text NOT NULL,
    digest     text NOT NULL,
    job_id     bigint NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (user_id, key)
);

-- A row stands for a stage that has been opened at least once; `open` is false while it waits to be opened again.
-- `sole` marks the one stage of a pipeline that has no other: closing it completes the job.
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
    error            jsonb
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0,
    autovacuum_analyze_scale_factor = 0.05);
-- The claim's order, and nothing but what can be claimed. A suspect waits in the mirror of its lane (-lane).
CREATE INDEX tasks_ready ON reelstate.tasks (lane, priority DESC, job_id, stage, part) WHERE status = 'ready';
-- Not on the expiry: a renewal must not touch an index.
CREATE INDEX tasks_leased ON reelstate.tasks (worker_id) WHERE worker_id IS NOT NULL;
CREATE INDEX tasks_due ON reelstate.tasks (run_after) WHERE run_after IS NOT NULL;

CREATE TABLE reelstate.worker_names (
    name       text PRIMARY KEY,
    enabled    boolean NOT NULL DEFAULT true,
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

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
    last_heartbeat_at timestamptz
) WITH (fillfactor = 50);
CREATE INDEX workers_by_name ON reelstate.workers (name);

-- The record. `xid` makes a cursor safe: a reader stops before the oldest transaction that is still open.
-- `stage` and `part` are -1 where the event is about the job (or the stage) as a whole.
-- Numbers are handed to sessions in blocks: within a transaction they grow, and between transactions `xid` rules.
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
CREATE UNIQUE INDEX events_by_entity ON reelstate.events (job_id, stage, part, version) WHERE job_id IS NOT NULL;
CREATE UNIQUE INDEX events_by_worker ON reelstate.events (worker_id, version) WHERE entity = 'worker';

CREATE TABLE reelstate.logs (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job_id   bigint NOT NULL,
    stage    smallint NOT NULL,
    part     integer NOT NULL,
    token    bigint NOT NULL,
    at       timestamptz NOT NULL,
    level    text NOT NULL,
    message  text NOT NULL,
    metadata jsonb
);
CREATE INDEX logs_by_job ON reelstate.logs (job_id, id);
