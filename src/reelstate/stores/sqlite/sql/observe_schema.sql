SELECT coalesce(max(number), 0) AS number FROM migrations
