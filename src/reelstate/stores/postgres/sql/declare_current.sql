-- The version of each name that new jobs run: the pinned one, else the newest. A version keeps its id when it is
-- declared again.
SELECT DISTINCT ON (name) name, id FROM reelstate.pipelines
WHERE name = ANY (%(names)s::text[])
ORDER BY name, pinned DESC, id DESC
