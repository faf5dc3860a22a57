-- Drain, reactivate or sign off one instance, or every instance of a name.
UPDATE workers
SET status = :status, version = version + 1, actor = :actor, reason = :reason, changed_at = :now
WHERE (id = :worker_id OR name = :name) AND status IN (SELECT value FROM json_each(:origins))
RETURNING id
