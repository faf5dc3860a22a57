-- Jobs whose newest state is old and whose states are all finished. The states of a stage are deleted when its job is
-- finished, whatever they are: before, the stage may still be read, or run again.
SELECT j.job_id
FROM (SELECT *, substring(job_id FROM '^([0-9]{1,18})\.[a-z][a-z0-9_-]*$')::bigint AS owner
      FROM reelstate.state_jobs WHERE deleted_at IS NULL) AS j
WHERE (SELECT max(s.at) <= coalesce(%(now)s::timestamptz, clock_timestamp()) - make_interval(secs => %(older)s)
              AND (j.owner IS NOT NULL OR bool_and(s.status = 2147483647))
       FROM reelstate.states s WHERE s.job_id = j.job_id AND s.generation = j.generation)
  AND NOT EXISTS (SELECT FROM reelstate.jobs e
                  WHERE e.id = j.owner AND e.status NOT IN ('completed', 'cancelled'))
ORDER BY j.job_id LIMIT %(limit)s
