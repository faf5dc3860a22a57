SELECT {job_columns}
FROM reelstate.jobs j LEFT JOIN reelstate.pipelines p ON p.id = j.pipeline_id
WHERE j.id < %(before)s
  AND (%(statuses)s::text[] IS NULL OR j.status = ANY (%(statuses)s::text[]))
  AND (%(pipeline)s::text IS NULL OR p.name = %(pipeline)s::text)
  AND (NOT %(flagged)s OR j.flagged IS NOT NULL)
  AND (%(user_id)s::text IS NULL OR j.user_id = %(user_id)s::text)
ORDER BY j.id DESC LIMIT %(limit)s
