-- The jobs among these that belong to a user; the others are not even locked.
SELECT id FROM jobs WHERE id IN (SELECT value FROM json_each(:job_ids)) AND user_id = :owner ORDER BY id
