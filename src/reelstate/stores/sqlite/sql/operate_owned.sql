-- Of these jobs, those of one user: who may change no others does not even lock them.
SELECT id FROM jobs WHERE id IN (SELECT value FROM json_each(:job_ids)) AND user_id = :owner ORDER BY id
