-- What a waiting job waits for: the jobs and groups that have not completed, those that stop it first. Of a group how many
-- jobs it has, how many have completed, and how many are active.
SELECT kind, target, status, actor, reason, error, name, jobs, completed, active
FROM (
    SELECT d.kind, d.target, j.status, j.actor, j.reason, j.error, g.name,
           (SELECT count(*) FROM group_jobs AS m WHERE d.kind = 'group' AND m.group_id = d.target) AS jobs,
           (SELECT count(*) FROM group_jobs AS m
            WHERE d.kind = 'group' AND m.group_id = d.target AND m.outcome = 'completed') AS completed,
           (SELECT count(*) FROM group_jobs AS m
            WHERE d.kind = 'group' AND m.group_id = d.target AND m.outcome IS NULL) AS active
    FROM waits AS w
    CROSS JOIN dependencies AS d ON d.job_id = w.job_id
    LEFT JOIN jobs AS j ON d.kind = 'job' AND j.id = d.target
    LEFT JOIN groups AS g ON d.kind = 'group' AND g.id = d.target
    WHERE w.job_id = :job_id AND w.ended_at IS NULL
)
WHERE CASE kind WHEN 'job' THEN status IS NOT 'completed' ELSE completed < jobs END
ORDER BY CASE WHEN kind = 'job' THEN coalesce(status, 'failed') IN ('failed', 'quarantined', 'cancelled')
              ELSE completed + active < jobs END DESC, kind, target
LIMIT :limit
