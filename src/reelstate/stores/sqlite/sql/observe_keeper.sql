SELECT CASE WHEN lead_renewed_at <= :now AND :now < lead_renewed_at + lead_seconds THEN leader END AS leader, seen_at, swept_at,
       CASE WHEN grace_started_at <= :now AND :now < grace_until THEN grace_until END AS grace_until
FROM keeper
