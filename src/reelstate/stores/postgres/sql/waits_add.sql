-- Let new jobs wait. The keeper looks at each once, because what it waits for may have completed before this commits.
INSERT INTO reelstate.waits (job_id, group_id, after_failure)
SELECT job_id, group_id, after_failure
FROM unnest(%(job_id)s::bigint[], %(group_id)s::bigint[], %(after_failure)s::text[])
    AS given (job_id, group_id, after_failure)
