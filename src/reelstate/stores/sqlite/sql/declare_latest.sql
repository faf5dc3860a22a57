-- The graph of each name that was declared last.
SELECT DISTINCT name, first_value(id) OVER (PARTITION BY name ORDER BY declared_at DESC, id DESC) AS id
FROM pipelines
WHERE name IN (SELECT value FROM json_each(:names))
ORDER BY name
