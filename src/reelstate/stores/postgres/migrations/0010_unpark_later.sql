-- A trigger before each update of a row locks it first: that wrote a lock record per completed task (4 % of the server's
-- time in a drain). A parked task is rare, so its lane is set by a second update.
DROP TRIGGER unpark ON reelstate.tasks;
CREATE OR REPLACE FUNCTION reelstate.unpark() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE reelstate.tasks SET lane = lane - sign(lane)::integer * 1073741824
    WHERE job_id = NEW.job_id AND stage = NEW.stage AND part = NEW.part
      AND (lane > 1073741824 OR lane < -1073741824);
    RETURN NULL;
END $$;
CREATE TRIGGER unpark AFTER UPDATE OF status ON reelstate.tasks
    FOR EACH ROW WHEN ((NEW.lane > 1073741824 OR NEW.lane < -1073741824) AND NEW.status <> 'ready')
    EXECUTE FUNCTION reelstate.unpark();
