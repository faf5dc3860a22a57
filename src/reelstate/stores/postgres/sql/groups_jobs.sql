-- The first jobs of a group after an id, with one of these statuses.
SELECT j.id FROM reelstate.groups g
JOIN reelstate.group_jobs m ON m.group_id = g.id
JOIN reelstate.jobs j ON j.id = m.job_id
WHERE g.user_id = %(user_id)s AND g.name = %(name)s AND m.job_id > %(after)s AND j.status = ANY (%(statuses)s::text[])
ORDER BY m.job_id LIMIT %(limit)s
