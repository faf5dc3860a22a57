"""The trigger in PostgreSQL that notes jobs which end or run again, for their groups and the jobs that wait for them.

Without groups and waiting jobs a statement costs a look at two empty tables.
"""

from __future__ import annotations

from typing import Final

from reelstate.core.machine import INACTIVE_JOBS
from reelstate.stores.guard import quoted

_INACTIVE: Final = quoted(INACTIVE_JOBS)
SCRIPT: Final = f"""
CREATE OR REPLACE FUNCTION reelstate.note_ending(job bigint, ended text) RETURNS void LANGUAGE plpgsql
SET enable_seqscan = off AS $$
BEGIN
    UPDATE reelstate.group_jobs SET outcome = ended WHERE job_id = job;
    IF FOUND OR EXISTS (SELECT FROM reelstate.dependencies d JOIN reelstate.waits w ON w.job_id = d.job_id
                        WHERE d.kind = 'job' AND d.target = job AND w.ended_at IS NULL) THEN
        INSERT INTO reelstate.ended_jobs (job_id, active) VALUES (job, ended IS NULL);
    END IF;
END $$;
CREATE OR REPLACE FUNCTION reelstate.note_endings() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM reelstate.group_jobs) OR EXISTS (SELECT FROM reelstate.waits) THEN
        PERFORM reelstate.note_ending(n.id, CASE WHEN n.status IN ({_INACTIVE}) THEN n.status END)
        FROM after n JOIN before o ON o.id = n.id
        WHERE n.status <> o.status AND (n.status IN ({_INACTIVE}) OR o.status IN ({_INACTIVE}));
    END IF;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER note_endings AFTER UPDATE ON reelstate.jobs
    REFERENCING OLD TABLE AS before NEW TABLE AS after
    FOR EACH STATEMENT EXECUTE FUNCTION reelstate.note_endings();
"""
"""A connection keeps the plan of `note_ending`: made while the tables were small, it would read all of them."""
