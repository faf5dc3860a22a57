-- The versions of pipelines by name.
SELECT id, name FROM reelstate.pipelines WHERE name = ANY (%(names)s::text[])
