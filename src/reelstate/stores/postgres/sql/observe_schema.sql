SELECT coalesce(max(number), 0) AS number, (SELECT value FROM reelstate.facts WHERE name = %(name)s) AS oldest
FROM reelstate.migrations
