-- Remove a limit; its row stays as a record, unsettled until the tasks that wait for it have left its queues. One that comes
-- with a pipeline (`declared`) does not replace one that an operator has set.
UPDATE limits SET removed_at = :now, changed_at = :now, settled_at = NULL, actor = :actor, reason = :reason
WHERE name = :name AND removed_at IS NULL AND (declared OR NOT :declared)
RETURNING {limit_columns}
