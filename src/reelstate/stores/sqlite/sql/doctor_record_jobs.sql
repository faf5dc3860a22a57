-- Per entity the events carry 1..n without a gap, each origin the target before it, and the last one leads to the row.
-- Beside max() SQLite returns the other columns of the row that has the maximum: `target` is that of the last event.
SELECT j.id AS job_id, -1 AS stage, -1 AS part, j.status,
       'version ' || j.version || ' ' || j.status || ', its record: ' || coalesce(e.events, 0) || ' events up to '
       || coalesce(e.highest, 0) || ' ' || coalesce(e.last, 'nothing') AS detail
FROM jobs AS j
LEFT JOIN (
    SELECT job_id, count(*) AS events, max(version) AS highest, target AS last,
           count(*) FILTER (WHERE origin IS NOT previous AND version > 1) AS breaks
    FROM (SELECT job_id, version, origin, target, lag(target) OVER (PARTITION BY job_id ORDER BY version) AS previous
          FROM history WHERE entity = 'job') AS lines
    GROUP BY job_id
) AS e ON e.job_id = j.id
WHERE j.inconsistent IS NULL
  AND (coalesce(e.events, 0), coalesce(e.highest, 0), e.last, e.breaks) IS NOT (j.version, j.version, j.status, 0)
ORDER BY j.id LIMIT :limit
