-- Sessions and codes that ended long ago.
DELETE FROM keys WHERE kind <> 'key' AND expires_at < :now - 86400
