-- The callback row of a user stays: the jobs with callbacks refer to it.
WITH removed AS (
    DELETE FROM reelstate.webhooks
    WHERE id = %(id)s AND kind = 'webhook' AND (%(owner)s::text IS NULL OR user_id = %(owner)s)
    RETURNING id
), dropped AS (
    DELETE FROM reelstate.deliveries d USING removed WHERE d.webhook_id = removed.id RETURNING d.id
), forgotten AS (
    DELETE FROM reelstate.delivery_attempts a USING dropped WHERE a.delivery_id = dropped.id
)
SELECT id FROM removed
