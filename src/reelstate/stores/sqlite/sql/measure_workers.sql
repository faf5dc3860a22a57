-- Worker instances by status, and how many tasks they can run; all together they are counted up to a limit.
SELECT status, count(*) AS workers, sum(slots) AS slots
FROM (SELECT status, slots FROM workers ORDER BY id DESC LIMIT :limit) GROUP BY status
