INSERT INTO reelstate.worker_names (name, enabled) VALUES (%(name)s, %(enabled)s)
ON CONFLICT (name) DO UPDATE SET enabled = excluded.enabled, changed_at = clock_timestamp()
