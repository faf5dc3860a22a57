-- Limits: how many tasks may run at once or start in a period, together or for each value of a key, and turns of keys.
-- A task that a limit may select becomes ready in lane n + 268435456 instead of n (isolated: negative), where it has
-- arrived, but no claim reads. An admission finds its limits and moves it to the queue of their keys (lanes from
-- 536870912), or admits it: then it is in lane n, and counts in each key until its run ends.

-- `per` is the key by which tasks are counted: null (together), `user`, `job`, or `spec.` and names. A limit that was
-- removed, or that selects other tasks now, stays as a record. `settled_at` is set when no task is in its lane that was
-- put there before the limit was known, or that still waits for a limit that was removed.
CREATE TABLE reelstate.limits (
    id         integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name       text NOT NULL,
    pipeline   text,
    stage      text,
    user_id    text,
    per        text,
    running    integer CONSTRAINT limits_running CHECK (running >= 1),
    starts     integer CONSTRAINT limits_starts CHECK (starts >= 1),
    period     double precision CONSTRAINT limits_period CHECK (period > 0),
    weights    jsonb NOT NULL DEFAULT '{}',
    declared   boolean NOT NULL DEFAULT false,
    reason     text,
    actor      text NOT NULL DEFAULT 'sql',
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    removed_at timestamptz,
    settled_at timestamptz,
    CONSTRAINT limits_rate CHECK ((starts IS NULL) = (period IS NULL))
);
CREATE UNIQUE INDEX limits_in_force ON reelstate.limits (name) WHERE removed_at IS NULL;
CREATE INDEX limits_unsettled ON reelstate.limits (id) WHERE settled_at IS NULL;

-- The values of the key of a limit that tasks have had. `admitted` tasks run or are the next to be claimed. `queues` is the
-- number of queues that wait for it. From `retry_at` on the queues that it blocks are looked at again.
CREATE TABLE reelstate.limit_keys (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    limit_id integer NOT NULL,
    key      text NOT NULL,
    admitted integer NOT NULL DEFAULT 0 CONSTRAINT limit_keys_admitted CHECK (admitted >= 0),
    queues   integer NOT NULL DEFAULT 0,
    retry_at timestamptz,
    UNIQUE (limit_id, key)
);
CREATE INDEX limit_keys_retry ON reelstate.limit_keys (retry_at) WHERE retry_at IS NOT NULL;

-- Tasks that wait for the same keys in the same lane: their lane is the id of the queue. `turn` is the share that the
-- queue has had: of two with the same priority the one with less is the next.
CREATE TABLE reelstate.limit_queues (
    id         integer GENERATED ALWAYS AS IDENTITY (START WITH 536870913 MAXVALUE 1073741823) PRIMARY KEY,
    lane       integer NOT NULL,
    keys       bigint[] NOT NULL,
    turn       double precision NOT NULL DEFAULT 0,
    priority   smallint NOT NULL DEFAULT 0,
    waiting    boolean NOT NULL DEFAULT false,
    blocked_by bigint,
    UNIQUE (lane, keys)
);
CREATE INDEX limit_queues_open ON reelstate.limit_queues (lane, priority DESC, turn) WHERE waiting AND blocked_by IS NULL;
CREATE INDEX limit_queues_blocked ON reelstate.limit_queues (blocked_by, priority DESC, turn) WHERE blocked_by IS NOT NULL;
CREATE INDEX limit_queues_turns ON reelstate.limit_queues (lane, turn);
CREATE INDEX limit_queues_waiting ON reelstate.limit_queues (lane, turn) WHERE waiting;

-- Admitted tasks that have ended: the next admission subtracts them from their keys.
CREATE TABLE reelstate.limit_ended (
    id    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    queue integer NOT NULL
);

-- Starts of tasks whose limit counts starts; `at` is null until the admitted task is claimed.
CREATE TABLE reelstate.limit_starts (
    key    bigint NOT NULL,
    job_id bigint NOT NULL,
    stage  smallint NOT NULL,
    part   integer NOT NULL,
    at     timestamptz
);
CREATE INDEX limit_starts_by_key ON reelstate.limit_starts (key, at);
CREATE INDEX limit_starts_expected ON reelstate.limit_starts (job_id, stage, part) WHERE at IS NULL;

-- The queue of a task that a limit selects; most tasks have none, and a null takes no room.
ALTER TABLE reelstate.tasks ADD COLUMN queue integer;
ALTER TABLE reelstate.tasks_archive ADD COLUMN queue integer;

CREATE FUNCTION reelstate.real_lane(given integer) RETURNS integer LANGUAGE sql STABLE AS $$
    SELECT sign(given)::integer * CASE
        WHEN low < 268435456 THEN low
        WHEN low < 536870912 THEN low - 268435456
        ELSE (SELECT q.lane FROM reelstate.limit_queues q WHERE q.id = low) END
    FROM (SELECT CASE WHEN abs(given) > 1073741824 THEN abs(given) - 1073741824 ELSE abs(given) END AS low) AS part
$$;

-- Only ready tasks wait for a pause or a limit: one that is reset, cancelled or forced has its own lane again.
DROP TRIGGER unpark ON reelstate.tasks;
CREATE OR REPLACE FUNCTION reelstate.unpark() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE reelstate.tasks SET lane = coalesce(reelstate.real_lane(lane), lane)
    WHERE job_id = NEW.job_id AND stage = NEW.stage AND part = NEW.part AND (lane > 268435456 OR lane < -268435456);
    RETURN NULL;
END $$;
CREATE TRIGGER unpark AFTER UPDATE OF status ON reelstate.tasks
    FOR EACH ROW WHEN ((NEW.lane > 268435456 OR NEW.lane < -268435456) AND NEW.status <> 'ready')
    EXECUTE FUNCTION reelstate.unpark();

CREATE FUNCTION reelstate.limit_end() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO reelstate.limit_ended (queue) VALUES (OLD.queue);
    DELETE FROM reelstate.limit_starts
    WHERE job_id = OLD.job_id AND stage = OLD.stage AND part = OLD.part AND at IS NULL;
    RETURN NULL;
END $$;
CREATE TRIGGER limit_end AFTER UPDATE OF status ON reelstate.tasks
    FOR EACH ROW WHEN (OLD.queue IS NOT NULL AND (OLD.status = 'running' AND NEW.status <> 'running'
        OR OLD.status = 'ready' AND NEW.status NOT IN ('ready', 'running') AND OLD.lane BETWEEN -268435455 AND 268435455))
    EXECUTE FUNCTION reelstate.limit_end();

CREATE FUNCTION reelstate.limit_start() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE reelstate.limit_starts SET at = NEW.claimed_at
    WHERE job_id = NEW.job_id AND stage = NEW.stage AND part = NEW.part AND at IS NULL;
    RETURN NULL;
END $$;
CREATE TRIGGER limit_start AFTER UPDATE OF status ON reelstate.tasks
    FOR EACH ROW WHEN (NEW.queue IS NOT NULL AND OLD.status = 'ready' AND NEW.status = 'running')
    EXECUTE FUNCTION reelstate.limit_start();

-- A task that becomes ready again arrives again, because its limits may be others now.
CREATE FUNCTION reelstate.limit_arrive() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM reelstate.limits m LEFT JOIN reelstate.lanes l ON l.id = abs(NEW.lane)
               WHERE m.removed_at IS NULL AND (m.pipeline IS NULL OR m.pipeline = l.pipeline)) THEN
        UPDATE reelstate.tasks SET lane = lane + sign(lane)::integer * 268435456
        WHERE job_id = NEW.job_id AND stage = NEW.stage AND part = NEW.part AND lane BETWEEN -268435455 AND 268435455;
    ELSIF NEW.queue IS NOT NULL THEN
        UPDATE reelstate.tasks SET queue = NULL WHERE job_id = NEW.job_id AND stage = NEW.stage AND part = NEW.part;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER limit_arrive AFTER UPDATE OF status ON reelstate.tasks
    FOR EACH ROW WHEN (NEW.status = 'ready' AND OLD.status <> 'ready')
    EXECUTE FUNCTION reelstate.limit_arrive();
