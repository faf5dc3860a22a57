-- Per entity the events carry 1..n without a gap, each origin the target before it, and the last one leads to the row.
SELECT j.id AS job_id, -1 AS stage, -1 AS part, j.status,
       'version ' || j.version || ' ' || j.status || ', its record: ' || coalesce(e.events, 0) || ' events up to '
       || coalesce(e.highest, 0) || ' ' || coalesce(e.last, 'nothing') AS detail
FROM reelstate.jobs j
LEFT JOIN (
    SELECT job_id, count(*) AS events, max(version) AS highest,
           (array_agg(target ORDER BY version DESC))[1] AS last,
           count(*) FILTER (WHERE origin IS DISTINCT FROM previous AND version > 1) AS breaks
    FROM (SELECT job_id, version, origin, target, lag(target) OVER (PARTITION BY job_id ORDER BY version) AS previous
          FROM reelstate.history WHERE entity = 'job') AS lines
    GROUP BY job_id
) e ON e.job_id = j.id
WHERE j.inconsistent IS NULL
  AND (coalesce(e.events, 0), coalesce(e.highest, 0), e.last, e.breaks) IS DISTINCT FROM (j.version, j.version, j.status, 0)
ORDER BY j.id LIMIT %(limit)s
