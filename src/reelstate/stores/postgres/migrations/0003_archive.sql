-- Archive tables have the columns of the tables they are named after, and are partitioned by the month in which the job
-- was created. That month follows from the id of the job (core/month.py), so the partition key is part of every key and
-- a job is found without a search. There is no DEFAULT partition: with one, no partition could be detached concurrently.
-- A migration that adds a column to one of these tables also adds it to its archive table; partitions follow it.

CREATE TABLE reelstate.jobs_archive (LIKE reelstate.jobs) PARTITION BY RANGE (id);
ALTER TABLE reelstate.jobs_archive ADD PRIMARY KEY (id);
CREATE INDEX jobs_archive_by_user ON reelstate.jobs_archive (user_id, id) WHERE user_id <> '';

CREATE TABLE reelstate.stages_archive (LIKE reelstate.stages) PARTITION BY RANGE (job_id);
ALTER TABLE reelstate.stages_archive ADD PRIMARY KEY (job_id, stage);

CREATE TABLE reelstate.tasks_archive (LIKE reelstate.tasks) PARTITION BY RANGE (job_id);
ALTER TABLE reelstate.tasks_archive ADD PRIMARY KEY (job_id, stage, part);

CREATE TABLE reelstate.events_archive (LIKE reelstate.events) PARTITION BY RANGE (job_id);
ALTER TABLE reelstate.events_archive ADD PRIMARY KEY (job_id, xid, id);
CREATE INDEX events_archive_by_entity ON reelstate.events_archive (job_id, stage, part, version);

CREATE TABLE reelstate.logs_archive (LIKE reelstate.logs) PARTITION BY RANGE (job_id);
ALTER TABLE reelstate.logs_archive ADD PRIMARY KEY (job_id, xid, id);
CREATE INDEX logs_archive_by_id ON reelstate.logs_archive (id);

CREATE TABLE reelstate.steps_archive (LIKE reelstate.steps) PARTITION BY RANGE (job_id);
ALTER TABLE reelstate.steps_archive ADD PRIMARY KEY (job_id, id);

-- States are stored under the name `job.stage`.
CREATE TABLE reelstate.state_jobs_archive (LIKE reelstate.state_jobs)
    PARTITION BY RANGE ((split_part(job_id, '.', 1)::bigint));
CREATE INDEX state_jobs_archive_by_job ON reelstate.state_jobs_archive (job_id);
CREATE TABLE reelstate.states_archive (LIKE reelstate.states)
    PARTITION BY RANGE ((split_part(job_id, '.', 1)::bigint));
CREATE INDEX states_archive_by_job ON reelstate.states_archive (job_id, task, tag);
CREATE TABLE reelstate.state_log_archive (LIKE reelstate.state_log)
    PARTITION BY RANGE ((split_part(job_id, '.', 1)::bigint));
CREATE INDEX state_log_archive_by_job ON reelstate.state_log_archive (job_id, generation, xid, id);

-- The history of a job with many parts in the order of the feed. The events of the first parts are few enough to be sorted,
-- so most jobs have no entry here.
CREATE INDEX events_by_job ON reelstate.events (job_id, xid, id) WHERE job_id IS NOT NULL AND part >= 1000;

-- Keys are appended in the order of time: a summary of blocks finds old ones, and costs an insert almost nothing.
CREATE INDEX idempotency_by_time ON reelstate.idempotency USING brin (created_at) WITH (pages_per_range = 16);
