-- Keys without room: the queues that they block are looked at again when a task ends, or when the next start may be.
UPDATE reelstate.limit_keys k SET retry_at = coalesce(%(now)s::timestamptz, clock_timestamp()) + make_interval(secs => given.retry_in)
FROM unnest(%(id)s::bigint[], %(retry_in)s::float8[]) AS given (id, retry_in)
WHERE k.id = given.id
