-- The oldest jobs that have ended, or run again, and were not looked at; those that another keeper holds are left to it.
SELECT id, job_id FROM reelstate.ended_jobs ORDER BY id LIMIT %(limit)s FOR UPDATE SKIP LOCKED
