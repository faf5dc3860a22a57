-- The view `opened_stages` is written out here, because this statement also reads the months of the archive.
SELECT s.stage, s.open, s.total, s.done, s.skipped, s.failed, s.opened_at,
       count(t.part) AS running, total(t.percent) AS running_percent,
       (SELECT count(*) FROM tasks AS i WHERE i.job_id = s.job_id AND i.stage = s.stage AND i.lane < 0
          AND i.status IN ('ready', 'running')) AS isolated
FROM {opened_stages} AS s
LEFT JOIN tasks AS t ON t.job_id = s.job_id AND t.stage = s.stage AND t.status = 'running'
WHERE s.job_id = :job_id
GROUP BY s.job_id, s.stage ORDER BY s.stage
