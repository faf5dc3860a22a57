-- Delete old log lines. Ids grow with time: the lowest ones are looked at, and no others.
WITH gone AS (
    DELETE FROM reelstate.logs
    WHERE id IN (SELECT lowest.id FROM (SELECT l.id, l.at FROM reelstate.logs l ORDER BY l.id LIMIT %(limit)s) AS lowest
                 WHERE lowest.at < %(past)s::timestamptz)
    RETURNING 1
)
SELECT count(*) AS rows FROM gone
