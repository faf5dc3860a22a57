-- Delete old log lines. Ids grow with time: the lowest ones are looked at, and no others.
DELETE FROM logs WHERE id IN (
    SELECT lowest.id FROM (SELECT l.id, l.at FROM logs AS l ORDER BY l.id LIMIT :limit) AS lowest
    WHERE lowest.at < :past);
SELECT changes() AS rows
