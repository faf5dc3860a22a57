max((SELECT coalesce(max(id), 0) FROM events), (SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'events'))
