-- The archive is in files beside this one, a file per month, with the tables and indexes of this file as they are when a
-- job is moved there (stores/sqlite/archive.py). So there are no archive tables to create here.

-- The history of a job with many parts in the order of the feed. The events of the first parts are few enough to be sorted,
-- so most jobs have no entry here.
CREATE INDEX events_by_job ON events (job_id, id) WHERE part >= 1000;

CREATE INDEX idempotency_by_time ON idempotency (created_at);
