-- Delete the places in groups of jobs whose month was deleted, and groups that have no job left. Groups that a job waits for
-- stay whole.
WITH gone AS (
    DELETE FROM reelstate.group_jobs WHERE job_id IN (
        SELECT m.job_id FROM reelstate.group_jobs m
        WHERE m.job_id >= %(first)s AND m.job_id < %(last)s
          AND NOT EXISTS (SELECT FROM reelstate.jobs j WHERE j.id = m.job_id)
          AND NOT EXISTS (SELECT FROM reelstate.dependencies d JOIN reelstate.waits w ON w.job_id = d.job_id
                          WHERE d.kind = 'group' AND d.target = m.group_id AND w.ended_at IS NULL)
        ORDER BY m.job_id LIMIT %(limit)s)
    RETURNING job_id, group_id
), emptied AS (
    DELETE FROM reelstate.groups g WHERE g.id IN (SELECT group_id FROM gone)
      AND NOT EXISTS (SELECT FROM reelstate.group_jobs m WHERE m.group_id = g.id
                      AND m.job_id NOT IN (SELECT job_id FROM gone WHERE gone.group_id = g.id))
)
SELECT count(*) AS rows FROM gone
