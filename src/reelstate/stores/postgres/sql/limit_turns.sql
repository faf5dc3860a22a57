-- What queues have had, and what they wait for now.
UPDATE reelstate.limit_queues q
SET turn = given.turn, waiting = given.waiting, priority = given.priority, blocked_by = given.blocked_by
FROM unnest(%(id)s::integer[], %(turn)s::float8[], %(waiting)s::boolean[], %(priority)s::smallint[], %(blocked_by)s::bigint[])
     AS given (id, turn, waiting, priority, blocked_by)
WHERE q.id = given.id
