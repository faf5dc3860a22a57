-- Delete sessions and codes that expired a day ago.
DELETE FROM reelstate.keys
USING (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock
WHERE kind <> 'key' AND expires_at < clock.now - interval '1 day'
