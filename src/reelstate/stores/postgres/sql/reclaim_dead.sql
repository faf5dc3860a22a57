-- End workers whose process is known to be gone. Waits for a claim that such a worker has still under way.
UPDATE reelstate.workers
SET status = 'offline', version = version + 1, actor = 'keeper', reason = 'its process is gone',
    changed_at = coalesce(%(now)s::timestamptz, clock_timestamp())
WHERE id = ANY (%(dead)s::bigint[]) AND status IN ('active', 'draining')
