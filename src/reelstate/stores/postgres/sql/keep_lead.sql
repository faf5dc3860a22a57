-- A keeper is here: it takes the lead if that is free, and ends the gap if there was one. A time that lies ahead is of
-- a clock that was set back since, and counts for nothing.
-- A gap is followed by a grace, in which no lease is taken back because it expired. A grace still running is made
-- longer, not begun anew; those with less than an hour between them share `most` seconds.
WITH clock AS (
    SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now
), before AS MATERIALIZED (
    SELECT clock.now,
           coalesce(k.leader IS NULL OR k.leader = %(keeper)s
                    OR NOT (k.led_at <= clock.now AND clock.now < k.led_at + make_interval(secs => k.lead_seconds)),
                    true) AS free,
           coalesce(k.seen_at < clock.now - make_interval(secs => %(gap)s), false) AS gap,
           CASE WHEN k.graced_at <= clock.now AND clock.now < k.grace_until
                THEN k.grace_until ELSE clock.now END AS resumes_at,
           CASE WHEN k.graced_at <= clock.now AND clock.now < k.grace_until + interval '1 hour'
                THEN k.granted ELSE 0 END AS spent
    FROM reelstate.keeper k, clock
    FOR UPDATE OF k
), grace AS (
    SELECT before.*, CASE WHEN gap THEN greatest(0, least(
        %(grace)s::float8 - extract(epoch FROM resumes_at - now)::float8, %(most)s::float8 - spent)) ELSE 0 END AS more
    FROM before
)
UPDATE reelstate.keeper k
SET leader = CASE WHEN free THEN %(keeper)s ELSE k.leader END,
    led_at = CASE WHEN free THEN now ELSE k.led_at END,
    lead_seconds = CASE WHEN free THEN %(lead)s ELSE k.lead_seconds END,
    seen_at = now,
    swept_at = CASE WHEN %(swept)s THEN now ELSE k.swept_at END,
    graced_at = CASE WHEN more > 0 THEN now ELSE k.graced_at END,
    grace_until = CASE WHEN more > 0 THEN resumes_at + make_interval(secs => more) ELSE k.grace_until END,
    granted = CASE WHEN more > 0 THEN spent + more ELSE k.granted END
FROM grace
RETURNING k.leader = %(keeper)s AS leads,
          CASE WHEN k.graced_at <= now AND now < k.grace_until
               THEN extract(epoch FROM k.grace_until - now)::float8 ELSE 0 END AS grace,
          coalesce(k.graced_at = now, false) AS began
