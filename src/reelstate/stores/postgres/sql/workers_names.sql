-- Also names whose instances are all pruned: they stay enabled or disabled.
SELECT name FROM reelstate.worker_names ORDER BY name
