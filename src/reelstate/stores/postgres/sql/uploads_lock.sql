-- Of one user's uploads one begins at a time, so that the next one counts it.
SELECT pg_advisory_xact_lock(hashtextextended('reelstate uploads of ' || %(user_id)s::text, 0)) AS locked
