-- The names under which the stages of jobs keep their states.
SELECT k.job_id AS name
FROM reelstate.jobs j
JOIN reelstate.pipelines p ON p.id = j.pipeline_id
CROSS JOIN jsonb_array_elements(p.graph -> 'stages') AS stage
JOIN reelstate.state_jobs k ON k.job_id = j.id || '.' || (stage ->> 'name')
WHERE j.id = ANY (%(job_ids)s::bigint[])
ORDER BY 1
