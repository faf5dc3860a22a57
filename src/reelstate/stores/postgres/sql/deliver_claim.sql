-- Lease due deliveries: from each lane at most `bound` at once in the cluster, from idle lanes first, so that endpoints
-- that hang do not hold up the others. Alerts only where the sender has their URL.
WITH RECURSIVE clock AS (
    SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now
), lanes (lane) AS (
    (SELECT lane FROM reelstate.deliveries WHERE status = 'pending' ORDER BY lane LIMIT 1)
    UNION ALL
    SELECT (SELECT d.lane FROM reelstate.deliveries d WHERE d.status = 'pending' AND d.lane > lanes.lane
            ORDER BY d.lane LIMIT 1)
    FROM lanes WHERE lanes.lane IS NOT NULL
), busy AS (
    SELECT lanes.lane, (SELECT count(*) FROM reelstate.deliveries d WHERE d.lane = lanes.lane AND d.leased
                        AND d.next_at > clock.now) AS requests
    FROM lanes, clock WHERE lanes.lane IS NOT NULL
), due AS (
    SELECT found.id FROM busy, clock, LATERAL (
        SELECT d.id, d.next_at FROM reelstate.deliveries d JOIN reelstate.webhooks w ON w.id = d.webhook_id
        WHERE d.lane = busy.lane AND d.status = 'pending' AND d.next_at <= clock.now AND w.enabled
          AND (w.kind <> 'alert' OR %(alerts)s)
        ORDER BY d.next_at LIMIT greatest(0, %(bound)s - busy.requests)
        FOR UPDATE OF d SKIP LOCKED
    ) AS found
    ORDER BY busy.requests, found.next_at LIMIT %(limit)s
)
UPDATE reelstate.deliveries d
SET leased = true, token = token + 1, attempt = attempt + 1,
    next_at = clock.now + make_interval(secs => %(lease)s::float8)
FROM due, clock, reelstate.webhooks w
WHERE d.id = due.id AND w.id = d.webhook_id
RETURNING d.id, d.token, d.attempt, w.kind, coalesce(d.url, w.url) AS url, d.type, d.data, d.created_at, w.secret,
    CASE WHEN w.old_until > clock.now THEN w.old_secret END AS old_secret,
    (SELECT value FROM reelstate.facts WHERE name = 'epoch') AS epoch
