-- The jobs of groups of a name.
SELECT j.id FROM reelstate.groups g
JOIN reelstate.group_jobs m ON m.group_id = g.id
JOIN reelstate.jobs j ON j.id = m.job_id
WHERE g.name = %(group)s AND (%(user_id)s::text IS NULL OR g.user_id = %(user_id)s::text)
  AND j.status = ANY (%(statuses)s::text[]) AND j.status <> 'completed'
  AND (%(pipeline)s::text IS NULL
       OR j.pipeline_id IN (SELECT id FROM reelstate.pipelines WHERE name = %(pipeline)s::text))
ORDER BY j.id LIMIT %(limit)s
