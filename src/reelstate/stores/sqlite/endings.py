"""The trigger in SQLite that notes jobs which end or run again, for their groups and the jobs that wait for them.

Without groups and waiting jobs such a transition costs a look at two empty tables.
"""

from __future__ import annotations

from typing import Final

from reelstate.core.machine import INACTIVE_JOBS
from reelstate.stores.guard import quoted

_INACTIVE: Final = quoted(INACTIVE_JOBS)
SCRIPT: Final = f"""
CREATE TRIGGER note_endings AFTER UPDATE OF status ON jobs
WHEN NEW.status <> OLD.status AND (NEW.status IN ({_INACTIVE}) OR OLD.status IN ({_INACTIVE}))
 AND (EXISTS (SELECT 1 FROM group_jobs) OR EXISTS (SELECT 1 FROM waits WHERE ended_at IS NULL))
BEGIN
    UPDATE group_jobs SET outcome = CASE WHEN NEW.status IN ({_INACTIVE}) THEN NEW.status END WHERE job_id = NEW.id;
    INSERT INTO ended_jobs (job_id, active)
    SELECT NEW.id, NEW.status NOT IN ({_INACTIVE})
    WHERE EXISTS (SELECT 1 FROM group_jobs WHERE job_id = NEW.id)
       OR EXISTS (SELECT 1 FROM dependencies AS d JOIN waits AS w ON w.job_id = d.job_id
                  WHERE d.kind = 'job' AND d.target = NEW.id AND w.ended_at IS NULL);
END;
"""
