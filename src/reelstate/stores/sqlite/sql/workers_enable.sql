INSERT INTO worker_names (name, enabled, changed_at) VALUES (:name, :enabled, :now)
ON CONFLICT (name) DO UPDATE SET enabled = excluded.enabled, changed_at = excluded.changed_at
