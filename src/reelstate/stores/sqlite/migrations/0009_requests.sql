-- A job that one statement has made can be found again by its request, should the answer be lost.
ALTER TABLE jobs ADD COLUMN request INTEGER;
CREATE UNIQUE INDEX jobs_by_request ON jobs (request) WHERE request IS NOT NULL;
