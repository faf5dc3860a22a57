-- Differs from PostgreSQL: there are no transaction numbers here, so a copy of the file is as good as the file.
SELECT -1 AS job_id, -1 AS stage, -1 AS part, 'restored' AS status, '' AS detail WHERE :limit < 0
