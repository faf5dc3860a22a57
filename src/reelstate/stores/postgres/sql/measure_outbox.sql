-- Deliveries that wait to be sent, counted up to a limit.
SELECT count(*) AS deliveries
FROM (SELECT FROM reelstate.deliveries WHERE status = 'pending' LIMIT %(limit)s) AS counted
