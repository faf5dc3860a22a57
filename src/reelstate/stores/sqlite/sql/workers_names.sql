-- Names outlive their instances: they stay enabled or disabled.
SELECT name FROM worker_names ORDER BY name
