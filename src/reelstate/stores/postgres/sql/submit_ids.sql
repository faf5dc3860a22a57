SELECT reelstate.new_id() AS id FROM generate_series(1, %(count)s)
