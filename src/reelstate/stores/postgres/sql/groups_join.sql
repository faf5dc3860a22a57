-- Create the groups that new jobs join, or begin the next round of those that have finished. Rows are locked in the order of
-- their names, so that two submissions do not wait for each other.
INSERT INTO reelstate.groups AS g (id, user_id, name, jobs, created_at)
SELECT given.id, given.user_id, given.name, given.jobs, coalesce(%(now)s::timestamptz, clock_timestamp())
FROM unnest(%(id)s::bigint[], %(user_id)s::text[], %(name)s::text[], %(jobs)s::integer[])
    AS given (id, user_id, name, jobs)
ORDER BY given.user_id, given.name
ON CONFLICT (user_id, name) DO UPDATE
SET jobs = g.jobs + excluded.jobs, finished_at = NULL,
    round = g.round + CASE WHEN g.finished_at IS NULL THEN 0 ELSE 1 END
RETURNING g.id, g.user_id, g.name, g.jobs
