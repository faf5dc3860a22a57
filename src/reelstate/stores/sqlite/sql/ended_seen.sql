-- Delete the rows of ended jobs that were looked at.
DELETE FROM ended_jobs WHERE id IN (SELECT value FROM json_each(:ids))
