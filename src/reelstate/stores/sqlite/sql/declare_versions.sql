-- The versions of these pipelines, or of all; the newest first.
SELECT name, id, digest, declared_at, pinned, graph FROM pipelines
WHERE :names IS NULL OR name IN (SELECT value FROM json_each(:names))
ORDER BY name, id DESC
