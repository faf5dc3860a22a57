SELECT count(*) FROM workers WHERE name = :name AND status <> 'offline'
