SELECT count(*) AS live FROM workers WHERE name = :name AND status <> 'offline'
