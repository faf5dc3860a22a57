-- The runs of a job's tasks by stage, part and version, after a key: each event of a claim, with the next event of its task,
-- which ended the run. Both are found by the index `events_by_entity`.
SELECT e.stage, e.part, e.version, e.token, e.worker_id, (extract(epoch FROM e.at) * 1000)::bigint AS began,
       (extract(epoch FROM n.at) * 1000)::bigint AS ended, n.target, n.actor, n.reason
FROM (
    SELECT job_id, stage, part, version, token, worker_id, at FROM reelstate.events
    WHERE job_id = %(job_id)s AND (stage, part, version) > (%(after_stage)s, %(after_part)s, %(after_version)s)
      AND (%(stage)s::smallint IS NULL OR stage = %(stage)s::smallint)
      AND target = 'running' AND entity IN ('task', 'task+job')
    ORDER BY job_id, stage, part, version LIMIT %(limit)s
) AS e
LEFT JOIN reelstate.events n
       ON n.job_id = e.job_id AND n.stage = e.stage AND n.part = e.part AND n.version = e.version + 1
ORDER BY e.stage, e.part, e.version
