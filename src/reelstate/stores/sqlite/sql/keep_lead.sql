-- Record a keeper as alive: it takes the lead if that is free, and ends the gap if there was one. A stored time in the
-- future comes from before the clock was set back, and is ignored.
-- A gap is a pause of all keepers that is longer than two sweeps (`lead`), and than `gap` or a third of the shortest
-- lease in force: workers could not renew meanwhile. It is followed by a grace as long as the longest lease, at most
-- `grace`; `reclaim` applies the lease of each task. A running grace is extended, not begun again; graces with less than
-- an hour between them share `max_grace` seconds.
-- `step` is by how much the clock was set since a keeper was last seen: back if that time is in the future, forward if
-- more time has passed by this clock than by the keeper's monotonic one (`since`, `elapsed`).
-- Differs from PostgreSQL: RETURNING sees the row alone, so the old row is read by its own statement.
CREATE TEMP TABLE IF NOT EXISTS sighting (step, seen_at, gap);
DELETE FROM temp.sighting;
INSERT INTO temp.sighting
SELECT CASE WHEN pause < 0 THEN pause ELSE coalesce(max(0, min(pause, :now - :since - :elapsed)), 0) END, seen_at,
       CASE WHEN pause > :lead
            THEN pause > min(:gap, coalesce((SELECT min(lease) / 3 FROM tasks WHERE status = 'running'), :gap)) ELSE 0 END
FROM (SELECT seen_at, coalesce(:now - seen_at, 0) AS pause FROM keeper);
WITH before AS MATERIALIZED (
    SELECT coalesce(leader IS NULL OR leader = :keeper
                    OR NOT (lead_renewed_at <= :now AND :now < lead_renewed_at + lead_seconds), 1) AS free,
           (SELECT gap FROM temp.sighting) AS gap,
           coalesce(grace_started_at <= :now AND :now < grace_until, 0) AS in_grace,
           CASE WHEN grace_started_at <= :now AND :now < grace_until THEN grace_until ELSE :now END AS resumes_at,
           CASE WHEN grace_started_at <= :now AND :now < grace_until + 3600.0 THEN grace_seconds ELSE 0 END AS spent
    FROM keeper
), grace AS MATERIALIZED (
    SELECT before.*, CASE WHEN gap THEN max(0, min(
        min(:grace, coalesce((SELECT max(lease) FROM tasks WHERE status = 'running'), :grace)) - (resumes_at - :now),
        :max_grace - spent)) ELSE 0 END AS more
    FROM before
)
UPDATE keeper
SET leader = CASE WHEN free THEN :keeper ELSE leader END,
    lead_renewed_at = CASE WHEN free THEN :now ELSE lead_renewed_at END,
    lead_seconds = CASE WHEN free THEN :lead ELSE lead_seconds END,
    seen_at = :now,
    swept_at = CASE WHEN :swept THEN :now ELSE swept_at END,
    gap_since = CASE WHEN gap AND NOT in_grace THEN seen_at ELSE gap_since END,
    grace_started_at = CASE WHEN more > 0 THEN :now ELSE grace_started_at END,
    grace_until = CASE WHEN more > 0 THEN resumes_at + more ELSE grace_until END,
    grace_seconds = CASE WHEN more > 0 THEN spent + more ELSE grace_seconds END
FROM grace
RETURNING leader = :keeper AS leads,
          CASE WHEN grace_started_at <= :now AND :now < grace_until THEN grace_until - :now ELSE 0 END AS grace,
          coalesce(grace_started_at = :now, 0) AS began, (SELECT step FROM temp.sighting) AS step, :now AS at,
          (SELECT seen_at FROM temp.sighting) AS seen_at
