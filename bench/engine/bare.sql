-- The smallest tables: jobs, stages, tasks and events in their smallest form that keeps the promises
-- the engine makes: checked transitions, one event row for each, leases with tokens, stage counters.
-- The triggers write the events of a whole statement at once, and the two constraints on events are
-- the set of legal (from, to, actor): an illegal change has no event, so it can't happen.

CREATE TYPE job_status AS ENUM ('pending', 'processing', 'completed');
CREATE TYPE task_status AS ENUM ('ready', 'running', 'done');
CREATE TYPE actor AS ENUM ('client', 'worker', 'orchestrator');

CREATE TABLE jobs (
    id bigint GENERATED ALWAYS AS IDENTITY (CACHE 500) PRIMARY KEY,
    version integer NOT NULL DEFAULT 1,
    status job_status NOT NULL DEFAULT 'pending',
    actor actor NOT NULL DEFAULT 'client',
    submitted_at timestamptz NOT NULL DEFAULT now(),
    finished_at timestamptz,
    spec text
) WITH (fillfactor = 45);

CREATE TABLE stages (
    id bigint GENERATED ALWAYS AS IDENTITY (CACHE 500) PRIMARY KEY,
    job_id bigint NOT NULL,
    total integer NOT NULL,
    done integer NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

CREATE TABLE tasks (
    id bigint GENERATED ALWAYS AS IDENTITY (CACHE 500) PRIMARY KEY,
    job_id bigint NOT NULL,
    stage_id bigint NOT NULL,
    token bigint NOT NULL DEFAULT 0,
    lease_expires_at timestamptz,
    finished_at timestamptz,
    part integer NOT NULL,
    version integer NOT NULL DEFAULT 1,
    worker integer,
    attempt smallint NOT NULL DEFAULT 0,
    priority smallint NOT NULL DEFAULT 5,
    status task_status NOT NULL DEFAULT 'ready',
    actor actor NOT NULL DEFAULT 'client',
    input text
) WITH (fillfactor = 50);
CREATE INDEX tasks_claim ON tasks (priority DESC, id) WHERE status = 'ready';

CREATE TABLE events (
    id bigint GENERATED ALWAYS AS IDENTITY (CACHE 500) PRIMARY KEY,
    xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
    at timestamptz NOT NULL DEFAULT now(),
    job_id bigint NOT NULL,
    task_id bigint,
    token bigint,
    version integer NOT NULL,
    actor actor NOT NULL,
    job_from job_status,
    job_to job_status,
    task_from task_status,
    task_to task_status,
    CONSTRAINT legal_job_transition CHECK (
        job_to IS NULL
        OR (job_from IS NULL AND job_to = 'pending' AND actor = 'client')
        OR job_from IS NOT NULL AND (job_from, job_to, actor) IN (
            ('pending', 'processing', 'worker'),
            ('processing', 'completed', 'orchestrator')
        )
    ),
    CONSTRAINT legal_task_transition CHECK (
        task_to IS NULL
        OR (task_from IS NULL AND task_to = 'ready' AND actor = 'client')
        OR task_from IS NOT NULL AND (task_from, task_to, actor) IN (
            ('ready', 'running', 'worker'),
            ('running', 'done', 'worker')
        )
    )
);

CREATE FUNCTION record_new_jobs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO events (job_id, version, actor, job_to)
    SELECT id, version, actor, status FROM created;
    RETURN NULL;
END $$;

CREATE FUNCTION record_new_tasks() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO events (job_id, task_id, token, version, actor, task_to)
    SELECT job_id, id, token, version, actor, status FROM created;
    RETURN NULL;
END $$;

CREATE FUNCTION record_jobs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO events (job_id, version, actor, job_from, job_to)
    SELECT after.id, after.version, after.actor, before.status, after.status
    FROM after JOIN before USING (id)
    WHERE after.status <> before.status;
    RETURN NULL;
END $$;

CREATE FUNCTION record_tasks() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO events (job_id, task_id, token, version, actor, task_from, task_to)
    SELECT after.job_id, after.id, after.token, after.version, after.actor, before.status, after.status
    FROM after JOIN before USING (id)
    WHERE after.status <> before.status;
    RETURN NULL;
END $$;

CREATE TRIGGER jobs_created AFTER INSERT ON jobs
    REFERENCING NEW TABLE AS created FOR EACH STATEMENT EXECUTE FUNCTION record_new_jobs();
CREATE TRIGGER tasks_created AFTER INSERT ON tasks
    REFERENCING NEW TABLE AS created FOR EACH STATEMENT EXECUTE FUNCTION record_new_tasks();
CREATE TRIGGER jobs_changed AFTER UPDATE ON jobs
    REFERENCING OLD TABLE AS before NEW TABLE AS after FOR EACH STATEMENT EXECUTE FUNCTION record_jobs();
CREATE TRIGGER tasks_changed AFTER UPDATE ON tasks
    REFERENCING OLD TABLE AS before NEW TABLE AS after FOR EACH STATEMENT EXECUTE FUNCTION record_tasks();
