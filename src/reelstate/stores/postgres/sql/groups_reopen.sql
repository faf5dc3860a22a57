-- Begin the next round of finished groups in which a job runs again, even if it has ended since.
UPDATE reelstate.groups g SET finished_at = NULL, round = g.round + 1
WHERE g.finished_at IS NOT NULL AND g.id IN (
    SELECT m.group_id FROM reelstate.ended_jobs e JOIN reelstate.group_jobs m ON m.job_id = e.job_id
    WHERE e.id = ANY (%(ids)s::bigint[]) AND e.active AND e.position = 0)
