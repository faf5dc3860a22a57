-- Delete the places in groups of jobs whose month was deleted, and groups that have no job left. Groups that a job waits for
-- stay whole.
DELETE FROM groups WHERE id IN (SELECT group_id FROM ({gone_members}))
  AND NOT EXISTS (SELECT 1 FROM group_jobs AS o WHERE o.group_id = groups.id
                  AND o.job_id NOT IN (SELECT job_id FROM ({gone_members})));
DELETE FROM group_jobs WHERE job_id IN (SELECT job_id FROM ({gone_members}));
SELECT changes() AS rows
