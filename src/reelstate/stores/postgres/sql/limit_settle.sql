-- Limits that were set or removed `older` seconds ago are settled: no transaction that began before can add a task to the
-- lanes, or to the queues, unseen.
UPDATE reelstate.limits SET settled_at = clock.now
FROM (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock
WHERE settled_at IS NULL AND coalesce(removed_at, created_at) <= clock.now - make_interval(secs => %(older)s)
RETURNING id
