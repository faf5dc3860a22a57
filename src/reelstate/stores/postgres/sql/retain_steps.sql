-- Delete old steps. Ids grow with time: the lowest ones are looked at, and no others.
WITH gone AS (
    DELETE FROM reelstate.steps
    WHERE id IN (SELECT lowest.id FROM (SELECT l.id, l.at FROM reelstate.steps l ORDER BY l.id LIMIT %(limit)s) AS lowest
                 WHERE lowest.at < %(past)s::timestamptz)
    RETURNING 1
)
SELECT count(*) AS rows FROM gone
