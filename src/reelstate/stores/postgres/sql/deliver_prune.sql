-- Old deliveries, also pending ones of disabled webhooks; and the callbacks of jobs that are gone, and
-- alerts of the week before.
WITH clock AS (
    SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) - make_interval(secs => %(older)s::float8) AS since
), gone AS (
    DELETE FROM reelstate.deliveries WHERE id IN (
        SELECT d.id FROM reelstate.deliveries d, clock WHERE d.created_at < clock.since AND NOT d.leased
        ORDER BY d.created_at LIMIT %(limit)s)
    RETURNING id
), forgotten AS (
    DELETE FROM reelstate.delivery_attempts a USING gone WHERE a.delivery_id = gone.id
), orphans AS (
    DELETE FROM reelstate.callbacks c USING clock
    WHERE c.created_at < clock.since AND NOT EXISTS (SELECT FROM reelstate.jobs j WHERE j.id = c.job_id)
), alerted AS (
    DELETE FROM reelstate.alerts WHERE at < coalesce(%(now)s::timestamptz, clock_timestamp()) - interval '7 days'
)
SELECT id FROM gone
