-- Differs from PostgreSQL: there is no planner to be told anything.
SELECT 'on' AS set_config
