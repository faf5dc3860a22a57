-- A change to a name is an event of each of its instances that is not offline.
UPDATE reelstate.workers
SET version = version + 1, actor = %(actor)s, reason = %(reason)s,
    changed_at = coalesce(%(now)s::timestamptz, clock_timestamp())
WHERE name = %(name)s AND status <> 'offline'
