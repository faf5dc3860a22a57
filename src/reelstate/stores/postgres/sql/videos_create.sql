INSERT INTO reelstate.videos (id, title, source, user_id, actor, created_at, changed_at)
SELECT id, title, source, user_id, 'user', clock.now, clock.now
FROM unnest(%(id)s::bigint[], %(title)s::text[], %(source)s::text[], %(user_id)s::text[])
         AS given (id, title, source, user_id),
     (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock
