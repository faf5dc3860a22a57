-- The versions of pipelines by name.
SELECT id, name FROM pipelines WHERE name IN (SELECT value FROM json_each(:names))
