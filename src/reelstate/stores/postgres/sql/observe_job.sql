SELECT {job_columns}, j.pipeline_id
FROM reelstate.jobs j LEFT JOIN reelstate.pipelines p ON p.id = j.pipeline_id
WHERE j.id = %(job_id)s AND (%(owner)s::text IS NULL OR j.user_id = %(owner)s::text)
