-- A change to a name is told in the record of each of its instances that has not signed off.
UPDATE workers SET version = version + 1, actor = :actor, reason = :reason, changed_at = :now
WHERE name = :name AND status <> 'offline'
