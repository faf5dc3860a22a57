-- Delete rows of jobs that are in the file of their month. Differs from PostgreSQL: the file was written before, because
-- a transaction over two files with write-ahead logs is not atomic when the power fails.
{engine}DELETE FROM {table} WHERE {key} IN (SELECT value FROM json_each(:job_ids));
{states}DELETE FROM {table} WHERE {key} IN (SELECT value FROM json_each(:names));
SELECT changes() AS rows
