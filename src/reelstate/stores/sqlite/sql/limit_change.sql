-- Change the numbers of a limit that selects the same tasks; queues that it blocks are looked at again. A limit that comes
-- with a pipeline does not change one that an operator has set.
-- Differs from PostgreSQL: a CTE can't write, so the keys come first.
UPDATE limit_keys SET retry_at = :now
WHERE limit_id IN (SELECT id FROM limits WHERE name = :name AND removed_at IS NULL AND (declared OR NOT :declared)
                   AND pipeline IS :pipeline AND stage IS :stage AND user_id IS :user_id AND per IS :per);
UPDATE limits
SET running = :running, starts = :starts, period = :period, weights = :weights, declared = :declared, reason = :reason,
    actor = :actor, changed_at = :now
WHERE name = :name AND removed_at IS NULL AND (declared OR NOT :declared)
  AND pipeline IS :pipeline AND stage IS :stage AND user_id IS :user_id AND per IS :per
RETURNING {limit_columns}
