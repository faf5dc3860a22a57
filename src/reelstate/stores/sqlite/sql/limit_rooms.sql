-- What keys still admit, and in how many seconds the next start of a period may be: soon, where no admitted task has
-- started yet. A limit that was removed admits everything.
-- Differs from PostgreSQL: without LATERAL the starts are read by correlated subqueries.
SELECT k.id, m.running - k.admitted AS running,
       m.starts - (SELECT count(*) FROM limit_starts AS s
                   WHERE s.key = k.id AND m.starts IS NOT NULL AND (s.at IS NULL OR s.at > :now - m.period)) AS starts,
       coalesce((SELECT value FROM json_each(m.weights) AS named WHERE named.key = k.key), 1) AS weight,
       coalesce((SELECT min(s.at) + m.period - :now FROM limit_starts AS s
                 WHERE s.key = k.id AND m.starts IS NOT NULL AND s.at > :now - m.period), min(m.period, 1.0)) AS retry_in
FROM json_each(:keys) AS given CROSS JOIN limit_keys AS k ON k.id = given.value
CROSS JOIN limits AS m ON m.id = k.limit_id AND m.removed_at IS NULL
