-- Delete old versions that a newer one follows. Older cursors are recognised by `floor_id` in the feed of the job,
-- by the fact `floor` in the feed of the engine. The newest version of each state stays, whatever its age.
-- Differs from PostgreSQL: a CTE can't write, so the versions are chosen before, into the parameter.
UPDATE state_jobs
SET floor_id = max(floor_id, (SELECT max(l.id) FROM state_log AS l JOIN json_each(:ids) AS old ON old.value = l.id
                              WHERE l.job_id = state_jobs.job_id))
WHERE job_id IN (SELECT l.job_id FROM state_log AS l JOIN json_each(:ids) AS old ON old.value = l.id);
INSERT INTO facts (name, value)
SELECT 'floor', '0.' || max(value) FROM json_each(:ids) HAVING max(value) IS NOT NULL
ON CONFLICT (name) DO UPDATE SET value = excluded.value
WHERE CAST(substr(excluded.value, 3) AS INTEGER) > CAST(substr(facts.value, 3) AS INTEGER);
DELETE FROM state_log WHERE id IN (SELECT value FROM json_each(:ids)) RETURNING id
