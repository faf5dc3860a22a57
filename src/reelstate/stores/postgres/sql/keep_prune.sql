-- Instances that have been offline for long and hold nothing. Their events stay, and so does their name.
DELETE FROM reelstate.workers w
WHERE w.status = 'offline'
  AND w.changed_at < coalesce(%(now)s::timestamptz, clock_timestamp()) - make_interval(secs => %(older)s)
  AND NOT EXISTS (SELECT FROM reelstate.tasks t WHERE t.worker_id = w.id)
RETURNING w.id
