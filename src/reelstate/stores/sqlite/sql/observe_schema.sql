SELECT coalesce(max(number), 0) AS number, (SELECT value FROM facts WHERE name = :name) AS oldest
FROM migrations
