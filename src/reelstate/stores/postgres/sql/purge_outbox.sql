-- Delete the callbacks, deliveries and alerts of a user, while their jobs and webhooks are there.
WITH theirs AS (
    SELECT id FROM reelstate.jobs WHERE user_id = %(user_id)s
), endpoints AS (
    SELECT id FROM reelstate.webhooks WHERE user_id = %(user_id)s
), callbacks AS (
    DELETE FROM reelstate.callbacks
    WHERE job_id IN (SELECT id FROM theirs) OR webhook_id IN (SELECT id FROM endpoints)
), alerts AS (
    DELETE FROM reelstate.alerts WHERE job_id IN (SELECT id FROM theirs)
), gone AS (
    DELETE FROM reelstate.deliveries d
    WHERE d.data ->> 'user_id' = %(user_id)s OR d.job_id IN (SELECT id FROM theirs)
       OR d.webhook_id IN (SELECT id FROM endpoints)
    RETURNING d.id
), attempts AS (
    DELETE FROM reelstate.delivery_attempts WHERE delivery_id IN (SELECT id FROM gone)
)
SELECT count(*) AS rows FROM gone
