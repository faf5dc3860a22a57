-- The number of jobs in each status, each counted up to a limit.
SELECT given.status, (SELECT count(*) FROM (
    SELECT FROM reelstate.jobs j WHERE j.status = given.status AND j.status <> 'completed' LIMIT %(limit)s) AS counted) AS jobs
FROM unnest(%(statuses)s::text[]) AS given (status)
