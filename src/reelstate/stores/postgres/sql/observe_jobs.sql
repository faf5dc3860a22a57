SELECT j.id, coalesce(p.name, '#' || j.pipeline_id) AS pipeline, coalesce(p.digest, '') AS digest, j.user_id, j.status, j.phase, j.priority, j.spec, j.run_after, j.error, j.degraded,
       j.inconsistent, j.flagged, j.flagged_at, j.version, j.actor, j.reason, j.created_at, j.started_at, j.changed_at, j.finished_at,
       j.resource_id
FROM reelstate.jobs j LEFT JOIN reelstate.pipelines p ON p.id = j.pipeline_id
WHERE j.id < %(before)s
  AND (%(statuses)s::text[] IS NULL OR j.status = ANY (%(statuses)s::text[]))
  AND (%(pipeline)s::text IS NULL OR p.name = %(pipeline)s::text)
  AND (NOT %(flagged)s OR j.flagged IS NOT NULL)
  AND (%(user_id)s::text IS NULL OR j.user_id = %(user_id)s::text)
ORDER BY j.id DESC LIMIT %(limit)s
