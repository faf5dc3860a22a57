-- Pauses of everything, a pipeline, a stage, a user or a worker's name. A claim reads those in force: it leaves out the
-- lanes of a paused pipeline, and ready tasks of a paused stage or user. Those are then parked, so that later claims do
-- not meet them: a parked task waits in lane n + 1073741824 instead of n (isolated: -n - 1073741824), which no claim
-- reads, and returns when nothing that pauses it is in force.

-- `name` is the pipeline, user or worker. A pause that has been lifted stays as a record. `settled_at` is set when the
-- tasks that it had parked are in their lanes again.
CREATE TABLE reelstate.pauses (
    id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    scope          text NOT NULL CONSTRAINT pauses_scope CHECK (scope IN ('all', 'pipeline', 'stage', 'user', 'worker')),
    name           text NOT NULL DEFAULT '',
    stage          text NOT NULL DEFAULT '',
    reason         text,
    actor          text NOT NULL DEFAULT 'sql',
    paused_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    resumed_at     timestamptz,
    resumed_by     text,
    resumed_reason text,
    settled_at     timestamptz
);
CREATE UNIQUE INDEX pauses_in_force ON reelstate.pauses (scope, name, stage) WHERE resumed_at IS NULL;
CREATE INDEX pauses_unsettled ON reelstate.pauses (resumed_at) WHERE resumed_at IS NOT NULL AND settled_at IS NULL;

-- Only ready tasks are parked: one that is reset, cancelled or forced has its own lane again.
CREATE FUNCTION reelstate.unpark() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.lane := NEW.lane - sign(NEW.lane)::integer * 1073741824;
    RETURN NEW;
END $$;
CREATE TRIGGER unpark BEFORE UPDATE ON reelstate.tasks
    FOR EACH ROW WHEN ((NEW.lane > 1073741824 OR NEW.lane < -1073741824) AND NEW.status <> 'ready')
    EXECUTE FUNCTION reelstate.unpark();
