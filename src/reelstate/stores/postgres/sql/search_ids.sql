-- The newest jobs before an id that a search selects. Only the newest `window` candidates of one index are looked at: by the
-- ids of a key (`by` = key), the groups of a name, the runs of a schedule, the owner, the statuses, or the id, which is ordered by time. The last
-- row is the lowest id looked at, negative, where the window was full; the next page continues there.
-- Each candidate is looked up by its key in a scalar subquery, which the planner can't turn into a join with all jobs.
WITH candidates AS MATERIALIZED (
    (SELECT given.id FROM unnest(%(ids)s::bigint[]) AS given (id)
     WHERE %(by)s::text = 'key' AND given.id > %(floor)s AND given.id < %(before)s)
    UNION ALL
    (SELECT found.id
     FROM (SELECT id FROM reelstate.groups
           WHERE %(by)s::text = 'group' AND name = %(group)s::text
             AND (%(user_id)s::text IS NULL OR user_id = %(user_id)s::text)) AS wanted
     CROSS JOIN LATERAL (
         SELECT m.job_id AS id FROM reelstate.group_jobs m
         WHERE m.group_id = wanted.id AND m.job_id > %(floor)s AND m.job_id < %(before)s
         ORDER BY m.job_id DESC LIMIT %(window)s
     ) AS found
     ORDER BY found.id DESC LIMIT %(window)s)
    UNION ALL
    (SELECT DISTINCT ON (r.job_id) r.job_id AS id FROM reelstate.schedule_runs r
     WHERE %(by)s::text = 'schedule' AND r.schedule_id = (SELECT id FROM reelstate.schedules WHERE name = %(schedule)s::text)
       AND r.job_id IS NOT NULL AND r.job_id > %(floor)s AND r.job_id < %(before)s
     ORDER BY r.job_id DESC LIMIT %(window)s)
    UNION ALL
    (SELECT id FROM reelstate.jobs
     WHERE %(by)s::text = 'user' AND user_id = %(user_id)s::text AND user_id <> '' AND id > %(floor)s AND id < %(before)s
     ORDER BY id DESC LIMIT %(window)s)
    UNION ALL
    (SELECT found.id
     FROM unnest(%(statuses)s::text[]) AS wanted (status)
     CROSS JOIN LATERAL (
         SELECT id FROM reelstate.jobs
         WHERE %(by)s::text = 'status' AND status = wanted.status AND status <> 'completed'
           AND id > %(floor)s AND id < %(before)s
         ORDER BY id DESC LIMIT %(window)s
     ) AS found
     ORDER BY found.id DESC LIMIT %(window)s)
    UNION ALL
    (SELECT id FROM reelstate.jobs
     WHERE %(by)s::text = 'id' AND id > %(floor)s AND id < %(before)s
     ORDER BY id DESC LIMIT %(window)s)
), selected AS (
    SELECT c.id FROM candidates c
    WHERE (
        SELECT (%(statuses)s::text[] IS NULL OR j.status = ANY (%(statuses)s::text[]))
           AND (%(pipelines)s::integer[] IS NULL OR j.pipeline_id = ANY (%(pipelines)s::integer[]))
           AND (%(user_id)s::text IS NULL OR j.user_id = %(user_id)s::text)
           AND j.priority BETWEEN %(low)s AND %(high)s
           AND (%(created_from)s::timestamptz IS NULL OR j.created_at >= %(created_from)s::timestamptz)
           AND (%(created_until)s::timestamptz IS NULL OR j.created_at < %(created_until)s::timestamptz)
           AND (%(finished_from)s::timestamptz IS NULL OR j.finished_at >= %(finished_from)s::timestamptz)
           AND (%(finished_until)s::timestamptz IS NULL OR j.finished_at < %(finished_until)s::timestamptz)
           AND (NOT %(flagged)s OR j.flagged IS NOT NULL)
           AND (%(group)s::text IS NULL OR %(by)s::text = 'group' OR EXISTS (
               SELECT FROM reelstate.group_jobs m JOIN reelstate.groups g ON g.id = m.group_id
               WHERE m.job_id = j.id AND g.name = %(group)s::text))
           AND (%(schedule)s::text IS NULL OR %(by)s::text = 'schedule' OR EXISTS (
               SELECT FROM reelstate.schedule_runs r JOIN reelstate.schedules s ON s.id = r.schedule_id
               WHERE r.job_id = j.id AND s.name = %(schedule)s::text))
           AND NOT EXISTS (
               SELECT FROM unnest(%(errors)s::text[]) AS wanted (text)
               WHERE position(lower(wanted.text COLLATE "C") IN lower(concat_ws(' ',
                   CASE jsonb_typeof(j.error) WHEN 'string' THEN j.error #>> '{}' END, j.error ->> 'type', j.error ->> 'message',
                   CASE jsonb_typeof(j.error -> 'cause') WHEN 'string' THEN j.error ->> 'cause' END,
                   j.error #>> '{cause,type}', j.error #>> '{cause,message}') COLLATE "C")) = 0)
           AND NOT EXISTS (
               SELECT FROM unnest(%(path)s::text[], %(text)s::text[], %(part)s::boolean[]) AS wanted (path, text, part)
               CROSS JOIN LATERAL (SELECT j.spec #> string_to_array(wanted.path, '.') AS value) AS stored
               CROSS JOIN LATERAL (
                   SELECT CASE WHEN jsonb_typeof(stored.value) IN ('string', 'number', 'boolean')
                               THEN stored.value #>> '{}' END AS value) AS shown
               WHERE CASE WHEN wanted.part
                          THEN position(lower(wanted.text COLLATE "C") IN lower(shown.value COLLATE "C")) > 0
                          ELSE shown.value = wanted.text END IS NOT true)
        FROM reelstate.jobs j WHERE j.id = c.id)
    ORDER BY c.id DESC LIMIT %(limit)s
)
SELECT id FROM selected
UNION ALL
SELECT -looked_at.lowest AS id
FROM (SELECT min(id) AS lowest, count(*) AS candidates FROM candidates) AS looked_at
WHERE looked_at.candidates >= %(window)s
