-- End workers whose process is known to be gone.
UPDATE workers
SET status = 'offline', version = version + 1, actor = 'keeper', reason = 'its process is gone', changed_at = :now
WHERE id IN (SELECT value FROM json_each(:dead)) AND status IN ('active', 'draining')
