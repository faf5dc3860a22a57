-- The runs of a job's tasks by stage, part and version, after a key: each event of a claim, with the next event of its task,
-- which ended the run. Both are found by the index `events_by_entity`.
SELECT e.stage, e.part, e.version, e.token, e.worker_id, CAST(e.at * 1000 AS INTEGER) AS began,
       CAST(n.at * 1000 AS INTEGER) AS ended, n.target, n.actor, n.reason
FROM (
    SELECT job_id, stage, part, version, token, worker_id, at FROM events INDEXED BY events_by_entity
    WHERE job_id = :job_id AND (stage, part, version) > (:after_stage, :after_part, :after_version)
      AND (:stage IS NULL OR stage = :stage)
      AND target = 'running' AND entity IN ('task', 'task+job')
    ORDER BY job_id, stage, part, version LIMIT :limit
) AS e
LEFT JOIN events AS n INDEXED BY events_by_entity
       ON n.job_id = e.job_id AND n.stage = e.stage AND n.part = e.part AND n.version = e.version + 1
ORDER BY e.stage, e.part, e.version
