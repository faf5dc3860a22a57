-- Pipelines and resources with many failures within the window, each once per window.
INSERT INTO alerts (type, subject, message, at)
SELECT 'job_failed_pattern', found.subject,
       found.failures || ' failures within ' || CAST(round(:window / 60.0) AS INTEGER) || ' min', :now
FROM (
    SELECT 'pipeline ' || a.subject AS subject, count(*) AS failures
    FROM alerts AS a
    WHERE a.type = 'job_max_retries_exceeded' AND a.at > :now - :window
    GROUP BY a.subject
    UNION ALL
    SELECT :noun || ' ' || j.resource_id, count(*)
    FROM alerts AS a JOIN jobs AS j ON j.id = a.job_id
    WHERE a.type = 'job_max_retries_exceeded' AND a.at > :now - :window AND j.resource_id IS NOT NULL
    GROUP BY j.resource_id
) AS found
WHERE found.failures >= :failures AND NOT EXISTS (
    SELECT 1 FROM alerts AS e WHERE e.type = 'job_failed_pattern' AND e.subject = found.subject
       AND e.at > :now - :window)
