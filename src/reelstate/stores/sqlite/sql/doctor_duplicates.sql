SELECT job_id, stage, part, min(status) AS status, count(*) || ' rows for one part' AS detail FROM tasks
GROUP BY job_id, stage, part HAVING count(*) > 1
ORDER BY job_id, stage, part LIMIT :limit
