-- One admission at a time. The next statement sees what the one before has committed.
SELECT pg_advisory_xact_lock(5927084317551972)::text AS locked
