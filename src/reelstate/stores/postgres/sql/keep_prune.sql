-- Delete instances that have been offline for `older` seconds and hold no lease. Their events and names stay.
DELETE FROM reelstate.workers w
WHERE w.status = 'offline'
  AND w.changed_at < coalesce(%(now)s::timestamptz, clock_timestamp()) - make_interval(secs => %(older)s)
  AND NOT EXISTS (SELECT FROM reelstate.tasks t WHERE t.worker_id = w.id)
RETURNING w.id
