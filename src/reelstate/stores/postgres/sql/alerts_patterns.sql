-- Pipelines and resources with many failures within the window, each once per window.
INSERT INTO reelstate.alerts (type, subject, message, at)
SELECT 'job_failed_pattern', found.subject,
       found.failures || ' failures within ' || round(%(window)s::numeric / 60) || ' min', clock.now
FROM (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock, LATERAL (
    SELECT 'pipeline ' || a.subject AS subject, count(*) AS failures
    FROM reelstate.alerts a
    WHERE a.type = 'job_max_retries_exceeded' AND a.at > clock.now - make_interval(secs => %(window)s::float8)
    GROUP BY a.subject
    UNION ALL
    SELECT %(noun)s || ' ' || j.resource_id, count(*)
    FROM reelstate.alerts a JOIN reelstate.jobs j ON j.id = a.job_id
    WHERE a.type = 'job_max_retries_exceeded' AND a.at > clock.now - make_interval(secs => %(window)s::float8)
      AND j.resource_id IS NOT NULL
    GROUP BY j.resource_id
) AS found
WHERE found.failures >= %(failures)s AND NOT EXISTS (
    SELECT FROM reelstate.alerts e WHERE e.type = 'job_failed_pattern' AND e.subject = found.subject
       AND e.at > clock.now - make_interval(secs => %(window)s::float8))
