-- The versions of these pipelines, or of all; the newest first.
SELECT name, id, digest, declared_at, pinned, graph FROM reelstate.pipelines
WHERE %(names)s::text[] IS NULL OR name = ANY (%(names)s::text[])
ORDER BY name, id DESC
