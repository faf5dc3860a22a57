-- Why a report was not accepted: the task as it is, and the event that ended the run under this token. A result may
-- arrive after the keeper has ended the run, so the last of two such events counts.
SELECT given.job_id, given.stage, given.part, t.token, t.status, e.target, e.actor, given.token AS asked
FROM unnest(%(job_id)s::bigint[], %(stage)s::smallint[], %(part)s::integer[], %(token)s::bigint[])
     AS given (job_id, stage, part, token)
LEFT JOIN reelstate.tasks t USING (job_id, stage, part)
LEFT JOIN LATERAL (
    SELECT target, actor FROM reelstate.events
    WHERE job_id = given.job_id AND stage = given.stage AND part = given.part AND token = given.token
      AND (origin = 'running' AND target <> 'running' OR origin = 'ready' AND target IN ('done', 'skipped'))
    ORDER BY version DESC LIMIT 1
) AS e ON true
