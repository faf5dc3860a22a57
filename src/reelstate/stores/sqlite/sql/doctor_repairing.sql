-- Until it is switched off, the guards are off: doctor writes its own events.
-- Differs from PostgreSQL: the switch is a row, invisible to others before the commit; it must be deleted by then.
DELETE FROM repairing;
INSERT INTO repairing SELECT :now WHERE :on;
SELECT CASE WHEN :on THEN 'on' ELSE '' END AS set_config
