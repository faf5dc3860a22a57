-- A job whose pipeline is one stage of one part has no row in `stages`: the stage follows from its task. An event that
-- moves a task and its job at once is one row. Rows written before stay as they are: both forms are read.
-- Statements of earlier releases look for the stage of every task, and their guards write one row per event.
-- oldest schema: 2

-- `sole` marks the only task of the only stage of a pipeline: its end is that of the stage and, without a failure, of the
-- job.
ALTER TABLE tasks ADD COLUMN sole INTEGER NOT NULL DEFAULT 0;

-- `task+job` is an event of a sole task and one of its job, whose version, origin and target are in `job_version`,
-- `job_origin` and `job_target`; `job+stage` is the creation of a job and the opening of its only stage. Such a row has
-- the number of the second event, and the first event has the number before it.
CREATE TABLE events_next (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    entity      TEXT NOT NULL,
    job_id      INTEGER,
    stage       INTEGER NOT NULL DEFAULT -1,
    part        INTEGER NOT NULL DEFAULT -1,
    worker_id   INTEGER,
    version     INTEGER NOT NULL,
    token       INTEGER,
    at          REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400.0),
    origin      TEXT,
    target      TEXT NOT NULL,
    actor       TEXT NOT NULL,
    reason      TEXT,
    data        TEXT,
    job_version INTEGER,
    job_origin  TEXT,
    job_target  TEXT,
    CONSTRAINT events_entity
        CHECK (entity IN ('job', 'stage', 'task', 'worker', 'finding', 'task+job', 'job+stage'))
);
INSERT INTO events_next (id, entity, job_id, stage, part, worker_id, version, token, at, origin, target, actor, reason,
    data)
SELECT id, entity, job_id, stage, part, worker_id, version, token, at, origin, target, actor, reason, data FROM events;
-- States took numbers too, and the last events may have been deleted.
DELETE FROM sqlite_sequence WHERE name = 'events_next';
INSERT INTO sqlite_sequence (name, seq) SELECT 'events_next', seq FROM sqlite_sequence WHERE name = 'events';
DROP TABLE events;
ALTER TABLE events_next RENAME TO events;
CREATE UNIQUE INDEX events_by_entity ON events (job_id, stage, part, version) WHERE job_id IS NOT NULL;
CREATE UNIQUE INDEX events_by_worker ON events (worker_id, version) WHERE entity = 'worker';
CREATE UNIQUE INDEX events_by_finding ON events (version) WHERE entity = 'finding';

-- Every event as a row of its own.
CREATE VIEW history AS
SELECT e.id - CASE WHEN half.n = 0 AND e.entity IN ('task+job', 'job+stage') THEN 1 ELSE 0 END AS id,
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
FROM events AS e
JOIN (SELECT 0 AS n UNION ALL SELECT 1) AS half ON half.n = 0 OR e.entity IN ('task+job', 'job+stage');

-- Every stage that has been opened, those of sole tasks included.
CREATE VIEW opened_stages AS
SELECT job_id, stage, open, sole, version, total, done, skipped, failed, opened_at FROM stages
UNION ALL
SELECT t.job_id, t.stage, 1, 1, 1, 1, CASE WHEN t.status = 'done' THEN 1 ELSE 0 END,
       CASE WHEN t.status = 'skipped' THEN 1 ELSE 0 END,
       CASE WHEN t.status = 'error' AND t.run_after IS NULL THEN 1 ELSE 0 END,
       (SELECT j.created_at FROM jobs AS j WHERE j.id = t.job_id)
FROM tasks AS t WHERE t.sole;
