UPDATE keys SET used_at = :now WHERE id = :id AND (used_at IS NULL OR used_at < :now - 60)
