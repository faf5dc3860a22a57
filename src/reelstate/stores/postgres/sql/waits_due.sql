-- Make jobs due that wait for jobs which have ended, or for groups in which no job is active, up to a limit and in the order
-- of their ids; those that are cancelled after a failure, with the first failed job of a group. Returns how many were found,
-- and the last of them.
WITH found AS MATERIALIZED (
    SELECT d.job_id FROM reelstate.ended_jobs e
    JOIN reelstate.dependencies d ON d.kind = 'job' AND d.target = e.job_id AND d.job_id > e.position
    JOIN reelstate.waits w ON w.job_id = d.job_id AND w.ended_at IS NULL
    WHERE e.id = ANY (%(ids)s::bigint[]) AND NOT e.active
    UNION
    SELECT d.job_id
    FROM (SELECT m.group_id, min(e.position) AS position, bool_or(m.outcome <> 'completed') AS failed
          FROM reelstate.ended_jobs e JOIN reelstate.group_jobs m ON m.job_id = e.job_id
          WHERE e.id = ANY (%(ids)s::bigint[]) GROUP BY m.group_id) AS g
    JOIN reelstate.dependencies d ON d.kind = 'group' AND d.target = g.group_id AND d.job_id > g.position
    JOIN reelstate.waits w ON w.job_id = d.job_id AND w.ended_at IS NULL
    WHERE g.failed AND w.after_failure = 'cancel'
       OR NOT EXISTS (SELECT FROM reelstate.group_jobs m WHERE m.group_id = g.group_id AND m.outcome IS NULL)
    ORDER BY 1 LIMIT %(limit)s
), made AS (
    UPDATE reelstate.waits w SET due = true FROM found WHERE w.job_id = found.job_id AND w.ended_at IS NULL
)
SELECT count(*) AS jobs, max(job_id) AS last FROM found
