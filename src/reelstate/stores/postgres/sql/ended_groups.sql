-- Lock the groups of jobs that have ended or run again, in the order of submissions: a new job joins before or after.
SELECT g.id FROM reelstate.groups g
WHERE g.id IN (SELECT m.group_id FROM reelstate.group_jobs m WHERE m.job_id = ANY (%(job_ids)s::bigint[]))
ORDER BY g.user_id, g.name FOR UPDATE
