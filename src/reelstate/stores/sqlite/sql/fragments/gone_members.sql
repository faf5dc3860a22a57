SELECT m.job_id, m.group_id FROM group_jobs AS m
    WHERE m.job_id >= :first AND m.job_id < :last
      AND NOT EXISTS (SELECT 1 FROM jobs AS j WHERE j.id = m.job_id)
      AND NOT EXISTS (SELECT 1 FROM dependencies AS d JOIN waits AS w ON w.job_id = d.job_id
                      WHERE d.kind = 'group' AND d.target = m.group_id AND w.ended_at IS NULL)
    ORDER BY m.job_id LIMIT :limit
