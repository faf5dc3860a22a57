INSERT INTO reelstate.alerts (type, subject, message, at)
SELECT %(type)s, %(subject)s, %(message)s, coalesce(%(now)s::timestamptz, clock_timestamp())
WHERE EXISTS (SELECT FROM reelstate.webhooks WHERE kind = 'alert')
