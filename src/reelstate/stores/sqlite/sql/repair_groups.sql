-- Set the outcomes of jobs in their groups, and let the keeper look at them again.
UPDATE group_jobs SET outcome = (
    SELECT CASE WHEN j.status IN ('completed', 'failed', 'quarantined', 'cancelled') THEN j.status END
    FROM jobs AS j WHERE j.id = group_jobs.job_id)
WHERE job_id IN (SELECT value FROM json_each(:job_ids));
INSERT INTO ended_jobs (job_id, active)
SELECT job_id, outcome IS NULL FROM group_jobs WHERE job_id IN (SELECT value FROM json_each(:job_ids))
