SELECT j.id, coalesce(p.name, '#' || j.pipeline_id) AS pipeline, coalesce(p.digest, '') AS digest, j.user_id, j.status, j.phase, j.priority, j.spec, j.run_after, j.error, j.degraded,
       j.inconsistent, j.flagged, j.flagged_at, j.version, j.actor, j.reason, j.created_at, j.started_at, j.changed_at, j.finished_at,
       j.resource_id,
       j.pipeline_id
FROM reelstate.jobs j LEFT JOIN reelstate.pipelines p ON p.id = j.pipeline_id
WHERE j.id = %(job_id)s AND (%(owner)s::text IS NULL OR j.user_id = %(owner)s::text)
