SELECT id, stage, part, token, at, level, message, metadata
FROM reelstate.logs
WHERE job_id = %(job_id)s AND id > %(after)s AND (%(stage)s::smallint IS NULL OR stage = %(stage)s::smallint)
  AND (%(part)s::integer IS NULL OR part = %(part)s::integer)
ORDER BY id LIMIT %(limit)s
