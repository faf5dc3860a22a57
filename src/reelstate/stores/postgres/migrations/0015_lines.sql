-- Lines are followed in the order of commit, as events are. Those of before have no transaction, and come first; a default
-- that is a constant spares the table from being written anew.
ALTER TABLE reelstate.logs ADD COLUMN xid xid8 NOT NULL DEFAULT '0';
ALTER TABLE reelstate.logs ALTER COLUMN xid SET DEFAULT pg_current_xact_id();
CREATE INDEX logs_by_place ON reelstate.logs (job_id, xid, id);
DROP INDEX reelstate.logs_by_job;
