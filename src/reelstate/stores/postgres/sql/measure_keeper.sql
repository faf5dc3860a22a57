-- Seconds since a keeper finished a sweep, or since one was last seen.
SELECT extract(epoch FROM coalesce(%(now)s::timestamptz, clock_timestamp()) - coalesce(swept_at, seen_at))::float8 AS seconds
FROM reelstate.keeper
