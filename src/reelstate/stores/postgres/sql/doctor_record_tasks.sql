-- As for jobs, but the creation of a task (version 1) is covered by the opening of its stage.
SELECT t.job_id, t.stage, t.part, t.status,
       'version ' || t.version || ' ' || t.status || ', its record: ' || coalesce(e.events, 0) || ' events up to '
       || coalesce(e.highest, 1) || ' ' || coalesce(e.last, 'created') AS detail
FROM reelstate.tasks t
JOIN reelstate.jobs j ON j.id = t.job_id AND j.inconsistent IS NULL
LEFT JOIN (
    SELECT job_id, stage, part, count(*) AS events, max(version) AS highest,
           (array_agg(target ORDER BY version DESC))[1] AS last,
           count(*) FILTER (WHERE origin IS DISTINCT FROM previous AND version > 2) AS breaks
    FROM (SELECT job_id, stage, part, version, origin, target,
                 lag(target) OVER (PARTITION BY job_id, stage, part ORDER BY version) AS previous
          FROM reelstate.events WHERE entity IN ('task', 'task+job')) AS lines
    GROUP BY job_id, stage, part
) e ON e.job_id = t.job_id AND e.stage = t.stage AND e.part = t.part
WHERE coalesce(e.events, 0) <> t.version - 1 OR coalesce(e.highest, 1) <> t.version OR e.last <> t.status OR e.breaks > 0
   OR e.last IS NULL AND t.status NOT IN ('new', 'ready')
ORDER BY t.job_id, t.stage, t.part LIMIT %(limit)s
