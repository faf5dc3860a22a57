WITH given (type, data) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:rows)
)
INSERT INTO deliveries (webhook_id, lane, type, data, created_at, next_at)
SELECT 'alerts', 'alerts', type, data, :now, :now FROM given
