SELECT s.stage, s.open, s.total, s.done, s.skipped, s.failed, s.opened_at,
       count(t.part) AS running, total(t.percent) AS running_percent
FROM stages AS s
LEFT JOIN tasks AS t ON t.job_id = s.job_id AND t.stage = s.stage AND t.status = 'running'
WHERE s.job_id = :job_id
GROUP BY s.job_id, s.stage ORDER BY s.stage
