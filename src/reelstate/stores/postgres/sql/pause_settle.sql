-- Pauses that were lifted `older` seconds ago are settled: no claim that still saw them can park a task any more.
UPDATE reelstate.pauses SET settled_at = coalesce(%(now)s::timestamptz, clock_timestamp())
WHERE resumed_at IS NOT NULL AND settled_at IS NULL
  AND resumed_at <= coalesce(%(now)s::timestamptz, clock_timestamp()) - make_interval(secs => %(older)s)
RETURNING id
