SELECT delivery_id, token, at, seconds, status, failure, response
FROM delivery_attempts WHERE delivery_id IN (SELECT value FROM json_each(:ids)) ORDER BY delivery_id, token
