-- Jobs that wait and are in a group are added one transaction after the other: only two of them can close a cycle between them.
SELECT pg_advisory_xact_lock(5928230727541182)::text AS locked
