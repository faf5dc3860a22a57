SELECT reelstate.new_id() FROM generate_series(1, %(count)s)
