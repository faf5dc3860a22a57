-- A job whose pipeline is one stage of one part has no row in `stages`: the stage follows from its task. An event that
-- moves a task and its job at once is one row. Rows written before stay as they are: both forms are read.
-- Statements of earlier releases look for the stage of every task, and their guards write one row per event.
-- oldest schema: 2

-- `sole` marks the only task of the only stage of a pipeline: its end is that of the stage and, without a failure, of the
-- job.
ALTER TABLE reelstate.tasks ADD COLUMN sole boolean NOT NULL DEFAULT false;

-- `task+job` is an event of a sole task and one of its job, whose version, origin and target are in `job_version`,
-- `job_origin` and `job_target`; `job+stage` is the creation of a job and the opening of its only stage. Such a row has
-- the number of the second event, and the first event has the number before it. So every row takes two numbers.
ALTER TABLE reelstate.events ADD COLUMN job_version integer;
ALTER TABLE reelstate.events ADD COLUMN job_origin text;
ALTER TABLE reelstate.events ADD COLUMN job_target text;
ALTER TABLE reelstate.events DROP CONSTRAINT events_entity;
ALTER TABLE reelstate.events ADD CONSTRAINT events_entity
    CHECK (entity IN ('job', 'stage', 'task', 'worker', 'finding', 'task+job', 'job+stage'));
-- A restart, because a session keeps the numbers that it has reserved until then.
DO $$
BEGIN
    EXECUTE 'ALTER TABLE reelstate.events ALTER COLUMN id SET INCREMENT BY 2 RESTART WITH '
        || nextval(pg_get_serial_sequence('reelstate.events', 'id')) + 1000;
END $$;

-- Every event as a row of its own.
CREATE VIEW reelstate.history AS
SELECT e.xid,
       e.id - CASE WHEN half.n = 0 AND e.entity IN ('task+job', 'job+stage') THEN 1 ELSE 0 END AS id,
       CASE e.entity WHEN 'task+job' THEN CASE half.n WHEN 0 THEN 'task' ELSE 'job' END
                     WHEN 'job+stage' THEN CASE half.n WHEN 0 THEN 'job' ELSE 'stage' END
                     ELSE e.entity END AS entity,
       e.job_id,
       CASE WHEN half.n = 0 THEN e.stage WHEN e.entity = 'job+stage' THEN 0 ELSE -1 END AS stage,
       CASE WHEN half.n = 0 THEN e.part ELSE -1 END AS part,
       CASE WHEN half.n = 0 THEN e.worker_id END AS worker_id,
       CASE WHEN half.n = 0 THEN e.version WHEN e.entity = 'job+stage' THEN 1 ELSE e.job_version END AS version,
       CASE WHEN half.n = 0 THEN e.token END AS token,
       e.at,
       CASE WHEN half.n = 0 THEN e.origin ELSE e.job_origin END AS origin,
       CASE WHEN half.n = 0 THEN e.target WHEN e.entity = 'job+stage' THEN 'opened' ELSE e.job_target END AS target,
       CASE WHEN half.n = 1 AND (e.entity = 'job+stage' OR e.job_target = 'completed') THEN 'orchestrator'
            ELSE e.actor END AS actor,
       CASE WHEN half.n = 0 THEN e.reason END AS reason,
       CASE WHEN half.n = 0 THEN e.data WHEN e.entity = 'job+stage' THEN '{"total": 1}' END AS data
FROM reelstate.events e
JOIN (SELECT 0 AS n UNION ALL SELECT 1) AS half ON half.n = 0 OR e.entity IN ('task+job', 'job+stage');

-- Every stage that has been opened, those of sole tasks included.
CREATE VIEW reelstate.opened_stages AS
SELECT job_id, stage, open, sole, version, total, done, skipped, failed, opened_at FROM reelstate.stages
UNION ALL
SELECT t.job_id, t.stage, true, true, 1, 1, CASE WHEN t.status = 'done' THEN 1 ELSE 0 END,
       CASE WHEN t.status = 'skipped' THEN 1 ELSE 0 END,
       CASE WHEN t.status = 'error' AND t.run_after IS NULL THEN 1 ELSE 0 END,
       (SELECT j.created_at FROM reelstate.jobs j WHERE j.id = t.job_id)
FROM reelstate.tasks t WHERE t.sole;

-- Row triggers of the same names replace these; see the guards.
DROP TRIGGER IF EXISTS guard_insert ON reelstate.jobs;
DROP TRIGGER IF EXISTS guard_insert ON reelstate.tasks;
DROP TRIGGER IF EXISTS guard_insert ON reelstate.workers;
DROP TRIGGER IF EXISTS guard_change ON reelstate.jobs;
DROP TRIGGER IF EXISTS guard_change ON reelstate.tasks;
DROP TRIGGER IF EXISTS guard_change ON reelstate.workers;
DROP TRIGGER IF EXISTS clear_flag ON reelstate.jobs;
DROP FUNCTION IF EXISTS reelstate.mark_manual();
