-- Also names whose instances are all pruned: they stay enabled or disabled.
SELECT name FROM worker_names ORDER BY name
