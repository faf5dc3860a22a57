-- Limits that were set or removed `older` seconds ago are settled: no transaction that began before can add a task to the
-- lanes, or to the queues, unseen.
UPDATE limits SET settled_at = :now
WHERE settled_at IS NULL AND coalesce(removed_at, created_at) <= :now - :older
RETURNING id
