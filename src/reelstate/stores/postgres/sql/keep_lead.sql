-- Record a keeper as alive: it takes the lead if that is free, and ends the gap if there was one. A stored time in the
-- future comes from before the clock was set back, and is ignored.
-- A gap is a pause of all keepers that is longer than two sweeps (`lead`), and than `gap` or a third of the shortest
-- lease in force: workers could not renew meanwhile. It is followed by a grace as long as the longest lease, at most
-- `grace`; `reclaim` applies the lease of each task. A running grace is extended, not begun again; graces with less than
-- an hour between them share `max_grace` seconds.
-- `step` is by how much the clock was set since a keeper was last seen: back if that time is in the future, forward if
-- more time has passed by this clock than by the keeper's monotonic one (`since`, `elapsed`).
WITH clock AS (
    SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now
), before AS MATERIALIZED (
    SELECT clock.now, k.seen_at,
           coalesce(k.leader IS NULL OR k.leader = %(keeper)s
                    OR NOT (k.lead_renewed_at <= clock.now AND clock.now < k.lead_renewed_at + make_interval(secs => k.lead_seconds)),
                    true) AS free,
           coalesce(extract(epoch FROM clock.now - k.seen_at)::float8, 0) AS pause,
           k.grace_started_at <= clock.now AND clock.now < k.grace_until AS in_grace, k.gap_since,
           CASE WHEN k.grace_started_at <= clock.now AND clock.now < k.grace_until
                THEN k.grace_until ELSE clock.now END AS resumes_at,
           CASE WHEN k.grace_started_at <= clock.now AND clock.now < k.grace_until + interval '1 hour'
                THEN k.grace_seconds ELSE 0 END AS spent
    FROM reelstate.keeper k, clock
    FOR UPDATE OF k
), checked AS MATERIALIZED (
    SELECT before.*,
           CASE WHEN pause > %(lead)s::float8
                THEN pause > least(%(gap)s::float8, (SELECT min(lease) / 3 FROM reelstate.tasks WHERE worker_id IS NOT NULL))
                ELSE false END AS gap,
           CASE WHEN pause < 0 THEN pause WHEN %(since)s::timestamptz IS NULL THEN 0
                ELSE greatest(0, least(pause, extract(epoch FROM now - %(since)s::timestamptz)::float8
                                              - %(elapsed)s::float8)) END AS step
    FROM before
), grace AS (
    SELECT checked.*, CASE WHEN gap THEN greatest(0, least(
        least(%(grace)s::float8, (SELECT max(lease) FROM reelstate.tasks WHERE worker_id IS NOT NULL))
          - extract(epoch FROM resumes_at - now)::float8, %(max_grace)s::float8 - spent)) ELSE 0 END AS more
    FROM checked
)
UPDATE reelstate.keeper k
SET leader = CASE WHEN free THEN %(keeper)s ELSE k.leader END,
    lead_renewed_at = CASE WHEN free THEN now ELSE k.lead_renewed_at END,
    lead_seconds = CASE WHEN free THEN %(lead)s ELSE k.lead_seconds END,
    seen_at = now,
    swept_at = CASE WHEN %(swept)s THEN now ELSE k.swept_at END,
    gap_since = CASE WHEN gap AND in_grace IS NOT true THEN grace.seen_at ELSE k.gap_since END,
    grace_started_at = CASE WHEN more > 0 THEN now ELSE k.grace_started_at END,
    grace_until = CASE WHEN more > 0 THEN resumes_at + make_interval(secs => more) ELSE k.grace_until END,
    grace_seconds = CASE WHEN more > 0 THEN spent + more ELSE k.grace_seconds END
FROM grace
RETURNING k.leader = %(keeper)s AS leads,
          CASE WHEN k.grace_started_at <= now AND now < k.grace_until
               THEN extract(epoch FROM k.grace_until - now)::float8 ELSE 0 END AS grace,
          coalesce(k.grace_started_at = now, false) AS began, step, now AS at, grace.seen_at
