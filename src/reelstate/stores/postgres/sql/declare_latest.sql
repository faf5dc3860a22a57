-- The graph of each name that was declared last.
SELECT DISTINCT ON (name) name, id FROM reelstate.pipelines
WHERE name = ANY (%(names)s::text[])
ORDER BY name, declared_at DESC, id DESC
