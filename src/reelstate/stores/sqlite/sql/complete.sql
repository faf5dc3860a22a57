-- Accepted while the task runs under the same token, even after expiry: the write lock orders it against reclaim.
-- Of several reports on one task SQLite would take the last; with min() it returns the columns of the first.
-- The totals of the workers and the counters of stages change with the tasks and, where a sole task has ended, so does
-- the job: one event records both.
-- Returns the accepted tasks, but none where all of the input is accepted; the stages that have closed; and one row for
-- all: how many tasks were accepted, and the jobs that completed. A job that could not be completed here is in `left`:
-- it is not active, pending again, or one of `degraded`, whose result lists what is missing.
-- Differs from PostgreSQL: a CTE can't write, so these are several statements; a temporary table has the accepted tasks.
{choose};

WITH given (job_id, stage, part, token, result, number) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'),
           json_extract(value, '$[3]'), json_extract(value, '$[4]'), key
    FROM json_each(:rows)
)
INSERT INTO chosen (task, result, with_job, number)
SELECT t.rowid, given.result,
       coalesce(t.sole AND j.status = j.phase AND j.id NOT IN (SELECT value FROM json_each(:degraded)), 0),
       min(given.number)
FROM given CROSS JOIN tasks AS t ON t.job_id = given.job_id AND t.stage = given.stage AND t.part = given.part
LEFT JOIN jobs AS j ON t.sole AND j.id = t.job_id
WHERE t.token = given.token AND t.status = 'running'
GROUP BY t.rowid;

UPDATE worker_instances SET done = done + counted.number
FROM (SELECT t.last_worker, count(*) AS number FROM chosen AS c CROSS JOIN tasks AS t ON t.rowid = c.task
      GROUP BY t.last_worker) AS counted
WHERE worker_instances.id = counted.last_worker;

INSERT INTO events (id, entity, job_id, stage, part, worker_id, version, token, at, origin, target, actor, job_version,
    job_origin, job_target)
SELECT {last_event} + 2 * row_number() OVER (ORDER BY c.task), 'task+job', t.job_id, t.stage, t.part, t.last_worker,
       t.version + 1, t.token, :now, 'running', :status, 'worker', j.version + 1, j.status, 'completed'
FROM chosen AS c CROSS JOIN tasks AS t ON t.rowid = c.task CROSS JOIN jobs AS j ON j.id = t.job_id
WHERE c.with_job ORDER BY c.task;

UPDATE tasks
SET status = :status, result = chosen.result, percent = 100, error = NULL, worker_id = NULL, lease_expires_at = NULL,
    finished_at = max(:now, coalesce(started_at, :now)), version = version + 1, actor = 'worker', reason = NULL,
    changed_at = :now
FROM chosen
WHERE tasks.rowid = chosen.task;

UPDATE stages
SET done = done + CASE WHEN :status = 'done' THEN ended.number ELSE 0 END,
    skipped = skipped + CASE WHEN :status = 'done' THEN 0 ELSE ended.number END
FROM (SELECT t.job_id, t.stage, count(*) AS number FROM chosen AS c CROSS JOIN tasks AS t ON t.rowid = c.task
      WHERE NOT t.sole GROUP BY t.job_id, t.stage) AS ended
WHERE stages.job_id = ended.job_id AND stages.stage = ended.stage;

UPDATE jobs
SET status = 'completed', finished_at = max(:now, coalesce(started_at, :now)), version = version + 1,
    actor = 'orchestrator', reason = NULL, changed_at = :now
WHERE id IN (SELECT t.job_id FROM chosen AS c CROSS JOIN tasks AS t ON t.rowid = c.task WHERE c.with_job);

SELECT 'all' AS kind, NULL AS job_id, NULL AS stage, NULL AS part, NULL AS token, count(*) AS total,
       coalesce(sum(with_job), 0) AS done, NULL AS skipped, NULL AS failed, NULL AS sole,
       (SELECT json_group_array(json_array(j.phase, :now - coalesce(j.started_at, j.created_at), :now - j.created_at,
                                    j.id, j.pipeline_id, j.trace))
        FROM chosen AS c CROSS JOIN tasks AS t ON t.rowid = c.task CROSS JOIN jobs AS j ON j.id = t.job_id
        WHERE c.with_job) AS completed
FROM chosen
UNION ALL
SELECT 'stage', s.job_id, s.stage, NULL, NULL, s.total, s.done, s.skipped, s.failed, s.sole, NULL
FROM (SELECT DISTINCT t.job_id, t.stage FROM chosen AS c CROSS JOIN tasks AS t ON t.rowid = c.task
      WHERE NOT t.sole) AS ended
CROSS JOIN stages AS s ON s.job_id = ended.job_id AND s.stage = ended.stage
WHERE s.done + s.skipped + s.failed = s.total
UNION ALL
SELECT 'left', t.job_id, t.stage, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
FROM chosen AS c CROSS JOIN tasks AS t ON t.rowid = c.task
WHERE t.sole AND NOT c.with_job
UNION ALL
SELECT 'task', t.job_id, t.stage, t.part, t.token, NULL, NULL, NULL, NULL, NULL, NULL
FROM chosen AS c CROSS JOIN tasks AS t ON t.rowid = c.task
WHERE (SELECT count(*) FROM chosen) < json_array_length(:rows)
