-- Delete rows of jobs for good.
{engine}DELETE FROM {table} WHERE {key} IN (SELECT value FROM json_each(:job_ids));
{states}DELETE FROM {table} WHERE {key} IN (SELECT value FROM json_each(:names));
SELECT changes() AS rows
