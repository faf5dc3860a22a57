-- Delete old steps. Ids grow with time: the lowest ones are looked at, and no others.
DELETE FROM steps WHERE id IN (
    SELECT lowest.id FROM (SELECT l.id, l.at FROM steps AS l ORDER BY l.id LIMIT :limit) AS lowest
    WHERE lowest.at < :past);
SELECT changes() AS rows
