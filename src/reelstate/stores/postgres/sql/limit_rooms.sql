-- What keys still admit, and in how many seconds the next start of a period may be: soon, where no admitted task has
-- started yet. A limit that was removed admits everything.
SELECT k.id, m.running - k.admitted AS running, m.starts - used.starts AS starts,
       coalesce((m.weights ->> k.key)::float8, 1) AS weight,
       coalesce(extract(epoch FROM used.next_at - clock.now)::float8, least(m.period, 1)) AS retry_in
FROM unnest(%(keys)s::bigint[]) AS given (id)
JOIN reelstate.limit_keys k ON k.id = given.id
JOIN reelstate.limits m ON m.id = k.limit_id AND m.removed_at IS NULL
CROSS JOIN (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock
CROSS JOIN LATERAL (
    SELECT count(*)::integer AS starts, min(s.at) + make_interval(secs => m.period) AS next_at FROM reelstate.limit_starts s
    WHERE s.key = k.id AND m.starts IS NOT NULL
      AND (s.at IS NULL OR s.at > clock.now - make_interval(secs => m.period))
) AS used
