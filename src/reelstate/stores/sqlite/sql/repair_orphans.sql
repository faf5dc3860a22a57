-- Differs from PostgreSQL: a CTE can't delete, so the rows are copied before they are deleted.
CREATE TEMP TABLE IF NOT EXISTS orphans (job_id, stage, part, version, status);
DELETE FROM temp.orphans;
WITH given (job_id, stage, part) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]') FROM json_each(:rows)
)
INSERT INTO temp.orphans
SELECT s.job_id, s.stage, -1, s.version, 'opened' FROM stages AS s
WHERE (s.job_id, s.stage, -1) IN (SELECT job_id, stage, part FROM given)
UNION ALL
SELECT t.job_id, t.stage, t.part, t.version, t.status FROM tasks AS t
WHERE (t.job_id, t.stage, t.part) IN (SELECT job_id, stage, part FROM given);
DELETE FROM tasks WHERE (job_id, stage, part) IN (SELECT job_id, stage, part FROM temp.orphans);
DELETE FROM stages WHERE (job_id, stage, -1) IN (SELECT job_id, stage, part FROM temp.orphans);
SELECT job_id, stage, part, version, status FROM temp.orphans
