-- Whether a job waits for others, and what happens after a failure of one.
SELECT after_failure FROM waits WHERE job_id = :job_id AND ended_at IS NULL
