-- The first due jobs: whether each may start, is cancelled, waits on, or is inactive and waits no more.
SELECT w.job_id, {wait_verdict}
FROM (SELECT * FROM reelstate.waits WHERE due AND ended_at IS NULL AND job_id <> ALL (%(without)s::bigint[])
      ORDER BY job_id LIMIT %(limit)s) AS w
LEFT JOIN reelstate.jobs j ON j.id = w.job_id
ORDER BY w.job_id
