-- Until it is switched off the guards stand aside: doctor writes its own events.
-- Differs from PostgreSQL: the sign is a row, unseen by others until the commit; it must be gone by then.
DELETE FROM repairing;
INSERT INTO repairing SELECT :now WHERE :on;
SELECT CASE WHEN :on THEN 'on' ELSE '' END AS set_config
