-- The same for the next waiting jobs after a position, due or not: none depends on a note of an ended job alone.
SELECT w.job_id, {wait_verdict}
FROM (SELECT * FROM waits WHERE ended_at IS NULL AND job_id > :after AND job_id NOT IN (SELECT value FROM json_each(:without))
      ORDER BY job_id LIMIT :limit) AS w
LEFT JOIN jobs AS j ON j.id = w.job_id
ORDER BY w.job_id
