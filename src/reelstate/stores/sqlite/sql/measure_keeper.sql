-- Seconds since a keeper finished a sweep, or since one was last seen.
SELECT :now - coalesce(swept_at, seen_at) AS seconds FROM keeper
