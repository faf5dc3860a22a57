SELECT delivery_id, token, at, seconds, status, failure, response
FROM reelstate.delivery_attempts WHERE delivery_id = ANY (%(ids)s::bigint[]) ORDER BY delivery_id, token
