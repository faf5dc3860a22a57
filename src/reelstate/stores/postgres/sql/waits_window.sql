-- The same for the next waiting jobs after a position, due or not: none depends on a note of an ended job alone.
SELECT w.job_id, {wait_verdict}
FROM (SELECT * FROM reelstate.waits WHERE ended_at IS NULL AND job_id > %(after)s AND job_id <> ALL (%(without)s::bigint[])
      ORDER BY job_id LIMIT %(limit)s) AS w
LEFT JOIN reelstate.jobs j ON j.id = w.job_id
ORDER BY w.job_id
