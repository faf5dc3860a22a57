-- Drain, reactivate or sign off one instance, or every instance of a name.
UPDATE reelstate.workers
SET status = %(status)s, version = version + 1, actor = %(actor)s, reason = %(reason)s,
    changed_at = coalesce(%(now)s::timestamptz, clock_timestamp())
WHERE (id = %(worker_id)s OR name = %(name)s) AND status = ANY (%(origins)s::text[])
RETURNING id
