SELECT CASE WHEN led_at <= :now AND :now < led_at + lead_seconds THEN leader END AS leader, seen_at, swept_at,
       CASE WHEN graced_at <= :now AND :now < grace_until THEN grace_until END AS grace_until
FROM keeper
