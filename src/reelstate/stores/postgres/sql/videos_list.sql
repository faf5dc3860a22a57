-- Videos with what their status is read from: the newest completed version that is still there, and the latest job.
-- Where none is wanted that is ready, those with a version that is not complete are looked at, and no others.
SELECT v.id, v.title, v.source, v.user_id, v.pinned, coalesce(v.pinned, completed.id) AS current, v.published,
       latest.id AS latest, latest.status AS latest_status,
       v.version, v.actor, v.reason, v.created_at, v.changed_at, v.deleted_at,
       CASE WHEN latest.status IN ('failed', 'quarantined') THEN latest.error END AS error,
       CASE WHEN jsonb_typeof(published.result -> 'duration') = 'number' THEN (published.result ->> 'duration')::float8 END AS duration,
       CASE WHEN jsonb_typeof(published.result -> 'poster') = 'string' THEN published.result ->> 'poster' END AS poster,
       CASE WHEN jsonb_typeof(published.result -> 'rungs') = 'array' THEN published.result -> 'rungs' ELSE '[]' END AS rungs
FROM reelstate.videos v
LEFT JOIN LATERAL (
    SELECT j.id FROM reelstate.jobs j
    WHERE j.resource_id = v.id AND j.status = 'completed'
      AND NOT EXISTS (SELECT FROM reelstate.removed_versions r WHERE r.job_id = j.id)
    ORDER BY j.id DESC LIMIT 1) AS completed ON true
LEFT JOIN LATERAL (
    SELECT j.id, j.status, j.error FROM reelstate.jobs j
    WHERE j.resource_id = v.id
    ORDER BY j.id DESC LIMIT 1) AS latest ON true
LEFT JOIN LATERAL (
    SELECT t.result FROM reelstate.tasks t
    WHERE t.job_id = coalesce(v.pinned, completed.id) AND t.part = 0
      AND t.stage = (SELECT max(s.stage) FROM reelstate.stages s WHERE s.job_id = t.job_id)) AS published ON true
WHERE v.id BETWEEN %(first)s AND %(last)s
  AND (%(statuses)s::text[] IS NULL OR %(ready)s
       OR v.id = ANY (ARRAY(SELECT resource_id FROM reelstate.jobs
                            WHERE resource_id IS NOT NULL AND (status <> 'completed' OR reason IS NOT NULL)
                              AND resource_id BETWEEN %(first)s AND %(last)s)))
  AND (%(deleted)s OR v.deleted_at IS NULL)
  AND (%(user_id)s::text IS NULL OR v.user_id = %(user_id)s::text)
  AND (%(statuses)s::text[] IS NULL
       OR CASE WHEN completed.id IS NOT NULL THEN %(ready)s ELSE latest.status = ANY (%(statuses)s::text[]) END)
ORDER BY v.id DESC LIMIT %(limit)s
