SELECT CASE WHEN k.lead_renewed_at <= clock.now AND clock.now < k.lead_renewed_at + make_interval(secs => k.lead_seconds)
            THEN k.leader END AS leader,
       k.seen_at, k.swept_at,
       CASE WHEN k.grace_started_at <= clock.now AND clock.now < k.grace_until THEN k.grace_until END AS grace_until
FROM reelstate.keeper k, (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock
