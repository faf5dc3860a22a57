-- Instances of one name register one at a time, so that each counts those before it.
SELECT pg_advisory_xact_lock(hashtextextended('reelstate instances of ' || %(name)s::text, 0)) AS locked
