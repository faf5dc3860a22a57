-- A job that one statement has made can be found again by its request, should the answer be lost.
ALTER TABLE reelstate.jobs ADD COLUMN request bigint;
CREATE UNIQUE INDEX jobs_by_request ON reelstate.jobs (request) WHERE request IS NOT NULL;
