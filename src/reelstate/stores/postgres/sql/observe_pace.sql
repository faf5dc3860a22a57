-- How many tasks of each stage of a job finished in each interval since a time, before an end.
SELECT stage, trunc(extract(epoch FROM finished_at - %(since)s::timestamptz) / %(width)s::float8)::integer AS number,
       count(*) AS tasks
FROM reelstate.tasks
WHERE job_id = %(job_id)s AND (stage, part) < (%(end_stage)s, %(end_part)s) AND status IN ('done', 'skipped')
  AND finished_at >= %(since)s::timestamptz
GROUP BY stage, number
ORDER BY stage, number
