-- Whether a job waits for others, and what happens after a failure of one.
SELECT after_failure FROM reelstate.waits WHERE job_id = %(job_id)s AND ended_at IS NULL
