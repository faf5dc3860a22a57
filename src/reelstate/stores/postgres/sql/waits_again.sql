-- Whether each of these waiting jobs may start, is cancelled, or waits on.
SELECT w.job_id, {wait_verdict}
FROM reelstate.waits w LEFT JOIN reelstate.jobs j ON j.id = w.job_id
WHERE w.job_id = ANY (%(job_ids)s::bigint[]) AND w.ended_at IS NULL
ORDER BY w.job_id
