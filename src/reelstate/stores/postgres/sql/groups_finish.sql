-- Finish the round of those locked groups in which no job is active.
UPDATE reelstate.groups g SET finished_at = clock.now
FROM (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock
WHERE g.id = ANY (%(ids)s::bigint[]) AND g.finished_at IS NULL
  AND NOT EXISTS (SELECT FROM reelstate.group_jobs m WHERE m.group_id = g.id AND m.outcome IS NULL)
RETURNING g.id, g.user_id, g.name, g.round, g.callback_id, g.callback_url, g.callback_lane, g.created_at, g.finished_at
