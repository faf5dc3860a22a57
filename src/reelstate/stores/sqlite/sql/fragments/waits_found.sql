SELECT d.job_id FROM ended_jobs AS e
    CROSS JOIN dependencies AS d ON d.kind = 'job' AND d.target = e.job_id AND d.job_id > e.position
    CROSS JOIN waits AS w ON w.job_id = d.job_id AND w.ended_at IS NULL
    WHERE e.id IN (SELECT value FROM json_each(:ids)) AND NOT e.active
    UNION
    SELECT d.job_id
    FROM (SELECT m.group_id, min(e.position) AS position, max(m.outcome <> 'completed') AS failed
          FROM ended_jobs AS e CROSS JOIN group_jobs AS m ON m.job_id = e.job_id
          WHERE e.id IN (SELECT value FROM json_each(:ids)) GROUP BY m.group_id) AS g
    CROSS JOIN dependencies AS d ON d.kind = 'group' AND d.target = g.group_id AND d.job_id > g.position
    CROSS JOIN waits AS w ON w.job_id = d.job_id AND w.ended_at IS NULL
    WHERE g.failed AND w.after_failure = 'cancel'
       OR NOT EXISTS (SELECT 1 FROM group_jobs AS m WHERE m.group_id = g.group_id AND m.outcome IS NULL)
    ORDER BY 1 LIMIT :limit
