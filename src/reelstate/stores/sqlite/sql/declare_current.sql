-- The version of each name that new jobs run: the pinned one, else the newest. A version keeps its id when it is
-- declared again.
SELECT DISTINCT name, first_value(id) OVER (PARTITION BY name ORDER BY pinned DESC, id DESC) AS id
FROM pipelines
WHERE name IN (SELECT value FROM json_each(:names))
ORDER BY name
