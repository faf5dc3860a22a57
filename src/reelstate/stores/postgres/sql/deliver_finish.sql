-- The outcome of an attempt, under the token of its lease. `delay` is null when there is no further attempt. A webhook
-- that answers that it is gone, or has failed for too long, is disabled.
WITH clock AS (
    SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now
), moved AS (
    UPDATE reelstate.deliveries d
    SET status = CASE WHEN %(ok)s THEN 'delivered' WHEN %(delay)s::float8 IS NULL THEN 'failed' ELSE 'pending' END,
        leased = false, next_at = clock.now + make_interval(secs => coalesce(%(delay)s::float8, 0)),
        finished_at = CASE WHEN %(ok)s OR %(delay)s::float8 IS NULL THEN clock.now END
    FROM clock
    WHERE d.id = %(id)s AND d.token = %(token)s AND d.leased
    RETURNING d.id, d.token, d.webhook_id
), kept AS (
    INSERT INTO reelstate.delivery_attempts (delivery_id, token, at, seconds, status, failure, response)
    SELECT moved.id, moved.token, clock.now, %(seconds)s, %(code)s::integer, %(failure)s::text, %(response)s::text
    FROM moved, clock
), judged AS (
    UPDATE reelstate.webhooks w
    SET failing_since = CASE WHEN %(ok)s THEN NULL ELSE coalesce(w.failing_since, clock.now) END,
        enabled = %(ok)s OR NOT (%(gone)s OR coalesce(
            w.failing_since < clock.now - make_interval(secs => %(disable_after)s::float8), false)),
        disabled = CASE WHEN %(ok)s THEN NULL WHEN %(gone)s THEN 'it answered 410 Gone'
            WHEN w.failing_since < clock.now - make_interval(secs => %(disable_after)s::float8)
            THEN 'every attempt since ' || to_char(w.failing_since AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI') || ' UTC failed'
            END,
        changed_at = CASE WHEN %(ok)s THEN w.changed_at ELSE clock.now END
    FROM moved, clock
    WHERE w.id = moved.webhook_id AND w.kind = 'webhook' AND w.enabled
      AND CASE WHEN %(ok)s THEN w.failing_since IS NOT NULL
          ELSE %(gone)s OR w.failing_since IS NULL
               OR w.failing_since < clock.now - make_interval(secs => %(disable_after)s::float8) END
    RETURNING w.id, w.enabled
)
SELECT moved.webhook_id, judged.enabled IS FALSE AS now_disabled
FROM moved LEFT JOIN judged ON judged.id = moved.webhook_id
