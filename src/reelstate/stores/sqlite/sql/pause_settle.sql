-- Pauses that were lifted `older` seconds ago are settled: no claim that still saw them can park a task any more.
UPDATE pauses SET settled_at = :now
WHERE resumed_at IS NOT NULL AND settled_at IS NULL AND resumed_at <= :now - :older
RETURNING id
