-- The outcome of an attempt, under the token of its lease. `delay` is null when there is no further attempt. A webhook
-- that answers that it is gone, or has failed for too long, is disabled.
UPDATE webhooks
SET failing_since = CASE WHEN :ok THEN NULL ELSE coalesce(failing_since, :now) END,
    enabled = :ok OR NOT (:gone OR coalesce(failing_since < :now - :disable_after, 0)),
    disabled = CASE WHEN :ok THEN NULL WHEN :gone THEN 'it answered 410 Gone'
        WHEN failing_since < :now - :disable_after
        THEN 'every attempt since ' || strftime('%Y-%m-%d %H:%M', failing_since, 'unixepoch') || ' UTC failed' END,
    changed_at = CASE WHEN :ok THEN changed_at ELSE :now END
WHERE kind = 'webhook' AND enabled
  AND id = (SELECT webhook_id FROM deliveries WHERE id = :id AND token = :token AND leased)
  AND CASE WHEN :ok THEN failing_since IS NOT NULL
      ELSE :gone OR failing_since IS NULL OR failing_since < :now - :disable_after END;

INSERT INTO delivery_attempts (delivery_id, token, at, seconds, status, failure, response)
SELECT id, token, :now, :seconds, :code, :failure, :response
FROM deliveries WHERE id = :id AND token = :token AND leased;

UPDATE deliveries
SET status = CASE WHEN :ok THEN 'delivered' WHEN :delay IS NULL THEN 'failed' ELSE 'pending' END, leased = 0,
    next_at = :now + coalesce(:delay, 0), finished_at = CASE WHEN :ok OR :delay IS NULL THEN :now END
WHERE id = :id AND token = :token AND leased
RETURNING webhook_id,
    EXISTS (SELECT 1 FROM webhooks AS w WHERE w.id = deliveries.webhook_id AND NOT w.enabled AND w.changed_at = :now)
        AS now_disabled
