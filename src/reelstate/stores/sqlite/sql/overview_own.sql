-- The newest jobs of a user by status, up to a limit of jobs.
SELECT status, count(*) AS jobs
FROM (SELECT status FROM jobs INDEXED BY jobs_by_user
      WHERE user_id = :owner AND user_id <> '' ORDER BY id DESC LIMIT :limit) AS newest
GROUP BY status
