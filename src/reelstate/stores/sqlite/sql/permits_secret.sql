SELECT secret FROM secrets WHERE name = :name
