-- Why a report was not accepted: the task as it is, and the event that ended the run under this token.
SELECT given.job_id, given.stage, given.part, t.token, t.status, e.target, e.actor, given.token AS asked
FROM unnest(%(job_id)s::bigint[], %(stage)s::smallint[], %(part)s::integer[], %(token)s::bigint[])
     AS given (job_id, stage, part, token)
LEFT JOIN reelstate.tasks t USING (job_id, stage, part)
LEFT JOIN reelstate.events e
    ON e.job_id = given.job_id AND e.stage = given.stage AND e.part = given.part AND e.token = given.token
       AND e.origin = 'running' AND e.target <> 'running'
