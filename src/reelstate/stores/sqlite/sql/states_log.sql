-- The states of all jobs in the order of commit, with the job of the engine and its owner.
WITH logged AS (
    SELECT l.*, substr(job_id, 1, instr(job_id, '.') - 1) AS number, substr(job_id, instr(job_id, '.') + 1) AS stage
    FROM state_log AS l WHERE l.id > :after_id AND l.id <= :until_id
), owned AS (
    SELECT logged.*, CASE WHEN number <> '' AND number NOT GLOB '*[^0-9]*' AND length(number) < 19
                         AND stage GLOB '[a-z]*' AND stage NOT GLOB '*[^a-z0-9_-]*'
                        THEN CAST(number AS INTEGER) END AS job
    FROM logged
)
SELECT '0' AS xid, id, job, (SELECT j.user_id FROM jobs AS j WHERE j.id = owned.job) AS user_id, job_id, task, tag,
       status, severity, message, payload, schema_version, at, version, event_id, generation
FROM owned
WHERE (:jobs IS NULL OR job IN (SELECT value FROM json_each(:jobs)))
  AND (:user_id IS NULL OR :user_id = (SELECT j.user_id FROM jobs AS j WHERE j.id = owned.job))
ORDER BY id LIMIT :limit
