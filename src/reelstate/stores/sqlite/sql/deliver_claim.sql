-- Lease due deliveries: from each lane at most `bound` at once, from idle lanes first, so that endpoints that hang do not
-- hold up the others. Alerts only where the sender has their URL.
-- Differs from PostgreSQL: LIMIT takes no column, so the rows of a lane are numbered.
WITH RECURSIVE lanes (lane) AS (
    SELECT min(lane) FROM deliveries WHERE status = 'pending'
    UNION ALL
    SELECT (SELECT min(d.lane) FROM deliveries AS d WHERE d.status = 'pending' AND d.lane > lanes.lane)
    FROM lanes WHERE lanes.lane IS NOT NULL
), heads AS (
    SELECT d.id, d.next_at, row_number() OVER (PARTITION BY d.lane ORDER BY d.next_at) AS number,
           (SELECT count(*) FROM deliveries AS b WHERE b.lane = d.lane AND b.leased AND b.next_at > :now) AS requests
    FROM lanes JOIN deliveries AS d ON d.id IN (
        SELECT f.id FROM deliveries AS f JOIN webhooks AS w ON w.id = f.webhook_id
        WHERE f.lane = lanes.lane AND f.status = 'pending' AND f.next_at <= :now AND w.enabled
          AND (w.kind <> 'alert' OR :alerts)
        ORDER BY f.next_at LIMIT :bound)
)
UPDATE deliveries SET leased = 1, token = token + 1, attempt = attempt + 1, next_at = :now + :lease
WHERE id IN (SELECT id FROM heads WHERE number + requests <= :bound ORDER BY requests, next_at LIMIT :limit)
RETURNING id, token, attempt, (SELECT w.kind FROM webhooks AS w WHERE w.id = deliveries.webhook_id) AS kind,
    coalesce(deliveries.url, (SELECT w.url FROM webhooks AS w WHERE w.id = webhook_id)) AS url, type, data, created_at,
    (SELECT w.secret FROM webhooks AS w WHERE w.id = deliveries.webhook_id) AS secret,
    (SELECT w.old_secret FROM webhooks AS w WHERE w.id = deliveries.webhook_id AND w.old_until > :now) AS old_secret,
    (SELECT value FROM facts WHERE name = 'epoch') AS epoch
