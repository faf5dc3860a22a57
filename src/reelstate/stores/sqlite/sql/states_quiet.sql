-- Jobs of which nothing has been heard for so long, and whose states are all finished.
SELECT j.job_id FROM state_jobs AS j
WHERE j.deleted_at IS NULL
  AND (SELECT max(s.at) <= :now - :older AND min(s.status) = 2147483647
       FROM states AS s WHERE s.job_id = j.job_id AND s.generation = j.generation)
ORDER BY j.job_id
