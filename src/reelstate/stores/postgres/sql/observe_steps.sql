SELECT id, stage, part, token, number, at, argv, exit_code, seconds, output
FROM reelstate.steps
WHERE job_id = %(job_id)s AND id > %(after)s AND (%(stage)s::smallint IS NULL OR stage = %(stage)s::smallint)
  AND (%(part)s::integer IS NULL OR part = %(part)s::integer)
ORDER BY id LIMIT %(limit)s
