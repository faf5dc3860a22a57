-- Deliveries that wait to be sent, counted up to a limit.
SELECT count(*) AS deliveries
FROM (SELECT 1 FROM deliveries INDEXED BY deliveries_due WHERE status = 'pending' LIMIT :limit)
