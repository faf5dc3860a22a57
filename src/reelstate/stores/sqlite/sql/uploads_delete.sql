DELETE FROM uploads WHERE id = :id AND (:owner IS NULL OR user_id = :owner) RETURNING id
