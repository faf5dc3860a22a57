-- Every version of these pipelines, of all where none is named; the newest first.
SELECT name, id, digest, declared_at, pinned, graph FROM pipelines
WHERE :names IS NULL OR name IN (SELECT value FROM json_each(:names))
ORDER BY name, id DESC
