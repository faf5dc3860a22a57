-- Differs from PostgreSQL: a write transaction has the database to itself, so this only counts unfinished tasks.
SELECT count(*) AS tasks FROM tasks
WHERE job_id IN (SELECT value FROM json_each(:job_ids)) AND status NOT IN ('done', 'skipped', 'cancelled')
