INSERT INTO reelstate.callbacks (job_id, webhook_id, url, lane, created_at)
SELECT given.job_id, w.id, given.url, given.lane, coalesce(%(now)s::timestamptz, clock_timestamp())
FROM unnest(%(job_id)s::bigint[], %(user_id)s::text[], %(url)s::text[], %(lane)s::text[])
    AS given (job_id, user_id, url, lane)
JOIN reelstate.webhooks w ON w.kind = 'callback' AND w.user_id = given.user_id
