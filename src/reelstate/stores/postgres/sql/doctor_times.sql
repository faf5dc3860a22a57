-- Instants that are no numbers, in SQLite alone: a column has a type here.
SELECT 0 AS job_id, 0 AS stage, 0 AS part, '' AS status, '' AS detail WHERE false LIMIT %(limit)s
