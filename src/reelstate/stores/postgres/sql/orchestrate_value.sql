-- A value in the spec of a job, or in the result of a one-part stage.
SELECT CASE WHEN %(source)s < 0
            THEN (SELECT spec FROM reelstate.jobs WHERE id = %(job_id)s)
            ELSE (SELECT result FROM reelstate.tasks WHERE job_id = %(job_id)s AND stage = %(source)s AND part = 0)
       END #> %(path)s::text[] AS result
