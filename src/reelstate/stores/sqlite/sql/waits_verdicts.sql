-- The first due jobs: whether each may start, is cancelled, waits on, or is inactive and waits no more.
SELECT w.job_id, {wait_verdict}
FROM (SELECT * FROM waits WHERE due AND ended_at IS NULL AND job_id NOT IN (SELECT value FROM json_each(:without))
      ORDER BY job_id LIMIT :limit) AS w
LEFT JOIN jobs AS j ON j.id = w.job_id
ORDER BY w.job_id
