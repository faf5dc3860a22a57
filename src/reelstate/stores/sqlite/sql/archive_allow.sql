-- Until it is switched off, the guards allow rows to leave their tables.
-- Differs from PostgreSQL: the switch is a row, invisible to others before the commit; it must be deleted by then.
DELETE FROM archiving;
INSERT INTO archiving SELECT :now WHERE :on;
SELECT CASE WHEN :on THEN 'on' ELSE '' END AS set_config
