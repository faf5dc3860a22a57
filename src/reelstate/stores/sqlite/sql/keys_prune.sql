-- Delete sessions and codes that expired a day ago.
DELETE FROM keys WHERE kind <> 'key' AND expires_at < :now - 86400
