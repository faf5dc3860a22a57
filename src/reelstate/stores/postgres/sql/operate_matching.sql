SELECT j.id FROM reelstate.jobs j
WHERE j.status = ANY (%(statuses)s::text[]) AND j.status <> 'completed'
  AND (%(user_id)s::text IS NULL OR j.user_id = %(user_id)s::text)
  AND (%(pipeline)s::text IS NULL
       OR j.pipeline_id IN (SELECT id FROM reelstate.pipelines WHERE name = %(pipeline)s::text))
ORDER BY j.id LIMIT %(limit)s
