-- Tasks that wait for their time, counted up to a limit.
SELECT count(*) AS tasks FROM (SELECT FROM reelstate.tasks WHERE run_after IS NOT NULL LIMIT %(limit)s) AS counted
