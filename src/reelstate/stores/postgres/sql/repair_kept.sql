-- Raise the versions of jobs, and change nothing else of them.
UPDATE reelstate.jobs j
SET version = j.version + 1, actor = 'doctor', reason = %(reason)s,
    changed_at = coalesce(%(now)s::timestamptz, clock_timestamp())
WHERE j.id = ANY (%(job_ids)s::bigint[])
RETURNING j.id, j.version, j.status
