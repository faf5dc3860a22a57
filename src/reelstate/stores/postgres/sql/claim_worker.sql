-- The worker, and what it runs now. The share lock makes a disable wait for claims under way, so that it sees them.
WITH named AS MATERIALIZED (
    SELECT w.id, w.status, w.slots, n.enabled
    FROM reelstate.workers w JOIN reelstate.worker_names n ON n.name = w.name
    WHERE w.id = %(worker_id)s
    FOR SHARE OF n
)
SELECT named.status, named.enabled, named.slots, count(t.worker_id), coalesce(bool_or(t.lost > 0), false)
FROM named
LEFT JOIN reelstate.tasks t ON t.worker_id = named.id
GROUP BY named.status, named.enabled, named.slots
