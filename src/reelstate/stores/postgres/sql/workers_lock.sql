-- Of one name's instances one registers at a time, so that the next one counts it.
SELECT pg_advisory_xact_lock(hashtextextended('reelstate instances of ' || %(name)s::text, 0))
