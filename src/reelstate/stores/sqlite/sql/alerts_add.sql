INSERT INTO alerts (type, subject, message, at)
SELECT :type, :subject, :message, :now WHERE EXISTS (SELECT 1 FROM webhooks WHERE kind = 'alert')
