-- The active jobs of a schedule. Runs whose jobs are inactive are not looked at again.
WITH seen AS MATERIALIZED (
    SELECT r.key, r.job_id, coalesce(j.status = ANY (%(statuses)s::text[]), false) AS active
    FROM reelstate.schedule_runs r LEFT JOIN reelstate.jobs j ON j.id = r.job_id
    WHERE r.schedule_id = %(id)s AND r.active
), settled AS (
    UPDATE reelstate.schedule_runs r SET active = false FROM seen
    WHERE r.schedule_id = %(id)s AND r.key = seen.key AND NOT seen.active
)
SELECT job_id AS id FROM seen WHERE active ORDER BY job_id
