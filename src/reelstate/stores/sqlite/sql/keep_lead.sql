-- A keeper is here: it takes the lead if that is free, and ends the gap if there was one. A time that lies ahead is of
-- a clock that was set back since, and counts for nothing.
-- A gap is followed by a grace, in which no lease is taken back because it expired. A grace still running is made
-- longer, not begun anew; those with less than an hour between them share `most` seconds.
WITH before AS MATERIALIZED (
    SELECT coalesce(leader IS NULL OR leader = :keeper
                    OR NOT (led_at <= :now AND :now < led_at + lead_seconds), 1) AS free,
           coalesce(seen_at < :now - :gap, 0) AS gap,
           CASE WHEN graced_at <= :now AND :now < grace_until THEN grace_until ELSE :now END AS resumes_at,
           CASE WHEN graced_at <= :now AND :now < grace_until + 3600.0 THEN granted ELSE 0 END AS spent
    FROM keeper
), grace AS MATERIALIZED (
    SELECT before.*, CASE WHEN gap THEN max(0, min(:grace - (resumes_at - :now), :most - spent)) ELSE 0 END AS more
    FROM before
)
UPDATE keeper
SET leader = CASE WHEN free THEN :keeper ELSE leader END,
    led_at = CASE WHEN free THEN :now ELSE led_at END,
    lead_seconds = CASE WHEN free THEN :lead ELSE lead_seconds END,
    seen_at = :now,
    swept_at = CASE WHEN :swept THEN :now ELSE swept_at END,
    graced_at = CASE WHEN more > 0 THEN :now ELSE graced_at END,
    grace_until = CASE WHEN more > 0 THEN resumes_at + more ELSE grace_until END,
    granted = CASE WHEN more > 0 THEN spent + more ELSE granted END
FROM grace
RETURNING leader = :keeper AS leads,
          CASE WHEN graced_at <= :now AND :now < grace_until THEN grace_until - :now ELSE 0 END AS grace,
          coalesce(graced_at = :now, 0) AS began
