SELECT id FROM uploads WHERE id IN (SELECT value FROM json_each(:ids))
