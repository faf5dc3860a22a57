-- Keep up to where jobs that wait for ended jobs were made due; the next transaction continues there.
UPDATE ended_jobs SET position = :position WHERE id IN (SELECT value FROM json_each(:ids))
