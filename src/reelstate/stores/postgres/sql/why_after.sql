-- What a waiting job waits for: the jobs and groups that have not completed, those that stop it first. Of a group how many
-- jobs it has, how many have completed, and how many are active.
SELECT d.kind, d.target, j.status, j.actor, j.reason, j.error, g.name,
       counted.jobs, counted.completed, counted.active
FROM reelstate.waits w
JOIN reelstate.dependencies d ON d.job_id = w.job_id
LEFT JOIN reelstate.jobs j ON d.kind = 'job' AND j.id = d.target
LEFT JOIN reelstate.groups g ON d.kind = 'group' AND g.id = d.target
LEFT JOIN LATERAL (
    SELECT count(*) AS jobs, count(*) FILTER (WHERE m.outcome = 'completed') AS completed,
           count(*) FILTER (WHERE m.outcome IS NULL) AS active
    FROM reelstate.group_jobs m WHERE d.kind = 'group' AND m.group_id = d.target
) AS counted ON true
WHERE w.job_id = %(job_id)s AND w.ended_at IS NULL
  AND CASE d.kind WHEN 'job' THEN j.status IS DISTINCT FROM 'completed' ELSE counted.completed < counted.jobs END
ORDER BY CASE WHEN d.kind = 'job' THEN coalesce(j.status, 'failed') IN ('failed', 'quarantined', 'cancelled')
              ELSE counted.completed + counted.active < counted.jobs END DESC, d.kind, d.target
LIMIT %(limit)s
