CASE
        WHEN j.id IS NULL OR j.status IN ('completed', 'failed', 'quarantined', 'cancelled') THEN 'end'
        WHEN w.after_failure = 'cancel' AND (
            EXISTS (SELECT 1 FROM dependencies AS d LEFT JOIN jobs AS t ON t.id = d.target
                    WHERE d.job_id = w.job_id AND d.kind = 'job'
                      AND coalesce(t.status, 'failed') IN ('failed', 'quarantined', 'cancelled'))
            OR EXISTS (SELECT 1 FROM dependencies AS d
                       JOIN group_jobs AS m ON m.group_id = d.target AND m.outcome IN ('failed', 'quarantined', 'cancelled')
                       WHERE d.job_id = w.job_id AND d.kind = 'group')) THEN 'cancel'
        WHEN EXISTS (SELECT 1 FROM dependencies AS d LEFT JOIN jobs AS t ON t.id = d.target
                     WHERE d.job_id = w.job_id AND d.kind = 'job' AND coalesce(t.status, 'failed') <> 'completed'
                       AND NOT (w.after_failure = 'start'
                                AND coalesce(t.status, 'failed') IN ('failed', 'quarantined', 'cancelled')))
          OR EXISTS (SELECT 1 FROM dependencies AS d
                     WHERE d.job_id = w.job_id AND d.kind = 'group'
                       AND (EXISTS (SELECT 1 FROM group_jobs AS m WHERE m.group_id = d.target AND m.outcome IS NULL)
                            OR w.after_failure <> 'start' AND EXISTS (
                                SELECT 1 FROM group_jobs AS m
                                WHERE m.group_id = d.target AND m.outcome IN ('failed', 'quarantined', 'cancelled')))) THEN 'wait'
        ELSE 'start'
    END AS verdict
