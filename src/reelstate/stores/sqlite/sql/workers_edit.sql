-- A change to a name is an event of each of its instances that is not offline.
UPDATE workers SET version = version + 1, actor = :actor, reason = :reason, changed_at = :now
WHERE name = :name AND status <> 'offline'
