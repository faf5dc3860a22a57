DELETE FROM tickets WHERE expires_at <= :now
