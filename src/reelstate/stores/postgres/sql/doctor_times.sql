-- Finds nothing: in PostgreSQL a time can't be anything else.
SELECT 0 AS job_id, 0 AS stage, 0 AS part, '' AS status, '' AS detail WHERE false LIMIT %(limit)s
