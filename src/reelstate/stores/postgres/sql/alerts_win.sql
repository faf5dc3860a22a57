-- Types and subjects with unsent alerts whose cooldown is over; of several keepers one gets each.
INSERT INTO reelstate.alert_cooldowns AS c (type, subject, sent_at)
SELECT DISTINCT a.type, a.subject, clock.now
FROM reelstate.alerts a, (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock
WHERE a.folded_at IS NULL
ORDER BY a.type, a.subject
ON CONFLICT (type, subject) DO UPDATE SET sent_at = excluded.sent_at
    WHERE c.sent_at <= excluded.sent_at - make_interval(secs => %(cooldown)s::float8)
RETURNING type, subject
