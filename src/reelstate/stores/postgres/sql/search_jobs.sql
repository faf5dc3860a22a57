SELECT {job_columns}
FROM reelstate.jobs j LEFT JOIN reelstate.pipelines p ON p.id = j.pipeline_id
WHERE j.id = ANY (%(ids)s::bigint[])
ORDER BY j.id DESC
