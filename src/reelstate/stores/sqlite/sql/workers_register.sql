-- Differs from PostgreSQL: a CTE can't write, so these are three statements.
INSERT INTO worker_names (name, changed_at) VALUES (:name, :now) ON CONFLICT (name) DO NOTHING;
INSERT INTO worker_instances (id, name) VALUES (:id, :name) ON CONFLICT (id) DO NOTHING;
INSERT INTO workers (id, name, hostname, software, kind, slots, capabilities, pipelines, metadata, actor,
    registered_at, changed_at)
SELECT :id, :name, :hostname, :software, :kind, :slots, :capabilities, :pipelines, :metadata, 'worker', :now, :now
WHERE NOT EXISTS (SELECT 1 FROM worker_names WHERE name = :name AND NOT enabled)
  AND (:max_instances IS NULL
       OR (SELECT count(*) FROM workers WHERE name = :name AND status <> 'offline') < :max_instances)
RETURNING id
