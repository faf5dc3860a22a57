-- Whether no other admission runs: then this one begins.
SELECT pg_try_advisory_xact_lock(5927084317551972) AS locked
