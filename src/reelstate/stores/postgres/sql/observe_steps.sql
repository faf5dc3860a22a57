SELECT id, stage, part, token, number, at, type, coalesce(started_at, at) AS started_at, argv, exit_code, seconds, output
FROM reelstate.steps
WHERE job_id = %(job_id)s AND id > %(after)s AND (%(stage)s::smallint IS NULL OR stage = %(stage)s::smallint)
  AND (%(part)s::integer IS NULL OR part = %(part)s::integer)
  AND (%(owner)s::text IS NULL
       OR EXISTS (SELECT FROM reelstate.jobs j WHERE j.id = %(job_id)s AND j.user_id = %(owner)s::text))
ORDER BY id LIMIT %(limit)s
