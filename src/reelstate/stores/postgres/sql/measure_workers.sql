-- Worker instances by status, and how many tasks they can run; all together they are counted up to a limit.
SELECT status, count(*) AS workers, sum(slots)::bigint AS slots
FROM (SELECT status, slots FROM reelstate.workers ORDER BY id DESC LIMIT %(limit)s) AS counted GROUP BY status
