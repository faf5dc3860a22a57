-- What a user's uploads without a video amount to; one that is under way has all of its length reserved.
SELECT count(*) FILTER (WHERE u.sha256 IS NULL) AS under_way, count(*) AS unused,
       coalesce(sum(coalesce(u.length, u.received)), 0)::bigint AS bytes
FROM (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock, reelstate.uploads u
WHERE u.user_id = %(user_id)s AND u.expires_at > clock.now AND NOT EXISTS (
    SELECT FROM reelstate.videos v
    WHERE v.source = 'stored://' || u.sha256 AND v.deleted_at IS NULL AND substr(v.source, 1, 9) = 'stored://')
