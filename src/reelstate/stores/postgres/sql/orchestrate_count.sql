-- The number of parts of a fan-out; null where its path does not exist, or leads to no array and no whole number.
WITH given AS (
    SELECT CASE WHEN %(source)s < 0
                THEN (SELECT spec FROM reelstate.jobs WHERE id = %(job_id)s)
                ELSE (SELECT result FROM reelstate.tasks
                      WHERE job_id = %(job_id)s AND stage = %(source)s AND part = 0)
           END #> %(path)s::text[] AS items
)
SELECT CASE jsonb_typeof(items)
           WHEN 'array' THEN jsonb_array_length(items)
           WHEN 'number' THEN CASE WHEN items::numeric >= 0 AND items::numeric = trunc(items::numeric)
                                        AND items::numeric <= 10000000 THEN items::integer END
       END AS total
FROM given
