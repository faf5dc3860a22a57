-- How many tasks of each stage of a job finished in each interval since a time, before an end.
SELECT stage, CAST((finished_at - :since) / :width AS INTEGER) AS number, count(*) AS tasks
FROM tasks
WHERE job_id = :job_id AND (stage, part) < (:end_stage, :end_part) AND status IN ('done', 'skipped') AND finished_at >= :since
GROUP BY stage, number
ORDER BY stage, number
