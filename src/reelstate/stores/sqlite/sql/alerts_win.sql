-- Types and subjects with unsent alerts whose cooldown is over; of several keepers one gets each.
INSERT INTO alert_cooldowns (type, subject, sent_at)
SELECT DISTINCT type, subject, :now FROM alerts WHERE folded_at IS NULL
ON CONFLICT (type, subject) DO UPDATE SET sent_at = excluded.sent_at
    WHERE alert_cooldowns.sent_at <= excluded.sent_at - :cooldown
RETURNING type, subject
