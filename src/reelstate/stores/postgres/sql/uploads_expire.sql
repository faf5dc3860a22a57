-- One that goes on at this moment is passed over.
DELETE FROM reelstate.uploads
WHERE id IN (SELECT u.id FROM (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock, reelstate.uploads u
             WHERE u.expires_at <= clock.now ORDER BY u.expires_at LIMIT %(limit)s FOR UPDATE OF u SKIP LOCKED)
RETURNING id
