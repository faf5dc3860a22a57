DELETE FROM reelstate.tickets
USING (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock
WHERE expires_at <= clock.now
