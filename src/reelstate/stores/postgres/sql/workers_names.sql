-- Names outlive their instances: they stay enabled or disabled.
SELECT name FROM reelstate.worker_names ORDER BY name
