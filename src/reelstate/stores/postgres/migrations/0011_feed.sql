-- The states of all jobs are read in one order, as events are.
CREATE INDEX state_log_by_place ON reelstate.state_log (xid, id);
