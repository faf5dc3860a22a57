-- Begin the next round of finished groups in which a job runs again, even if it has ended since.
UPDATE groups SET finished_at = NULL, round = round + 1
WHERE finished_at IS NOT NULL AND id IN (
    SELECT m.group_id FROM ended_jobs AS e JOIN group_jobs AS m ON m.job_id = e.job_id
    WHERE e.id IN (SELECT value FROM json_each(:ids)) AND e.active AND e.position = 0)
