-- Add new jobs to groups.
INSERT INTO reelstate.group_jobs (job_id, group_id)
SELECT job_id, group_id FROM unnest(%(job_id)s::bigint[], %(group_id)s::bigint[]) AS given (job_id, group_id)
