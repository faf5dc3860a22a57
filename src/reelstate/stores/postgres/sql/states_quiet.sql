-- Jobs of which nothing has been heard for so long, and whose states are all finished.
SELECT j.job_id FROM reelstate.state_jobs j
WHERE j.deleted_at IS NULL
  AND (SELECT max(s.at) <= coalesce(%(now)s::timestamptz, clock_timestamp()) - make_interval(secs => %(older)s)
              AND bool_and(s.status = 2147483647)
       FROM reelstate.states s WHERE s.job_id = j.job_id AND s.generation = j.generation)
ORDER BY j.job_id
