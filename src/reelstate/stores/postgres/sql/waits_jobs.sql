-- The jobs of a user among these; a job without a user may wait for any. The lock orders this against the transaction that ends
-- such a job: either this finds it ended, or that transaction finds the job that waits.
SELECT id FROM reelstate.jobs
WHERE id = ANY (%(ids)s::bigint[]) AND (%(user_id)s = '' OR user_id = %(user_id)s)
ORDER BY id FOR SHARE
