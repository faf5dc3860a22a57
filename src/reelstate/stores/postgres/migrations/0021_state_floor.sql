-- Up to where the log of a state job was deleted, with the job or by age: an older cursor is told so.
ALTER TABLE reelstate.state_jobs ADD COLUMN floor_xid xid8 NOT NULL DEFAULT '0';
ALTER TABLE reelstate.state_jobs ADD COLUMN floor_id bigint NOT NULL DEFAULT 0;
