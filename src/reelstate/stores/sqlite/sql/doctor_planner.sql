-- Differs from PostgreSQL: its planner has no such settings.
SELECT 'on' AS set_config
