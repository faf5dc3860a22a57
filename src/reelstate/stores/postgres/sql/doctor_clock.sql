SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS at
