-- Parts of an earlier, longer fan-out that the new one no longer has.
UPDATE reelstate.tasks
SET status = 'skipped', version = version + 1, actor = 'orchestrator', reason = 'not part of the new fan-out',
    finished_at = greatest(coalesce(%(now)s::timestamptz, clock_timestamp()), started_at),
    changed_at = coalesce(%(now)s::timestamptz, clock_timestamp())
WHERE job_id = %(job_id)s AND stage = %(stage)s AND part >= %(total)s AND status = 'new'
