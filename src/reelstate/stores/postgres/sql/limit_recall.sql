-- Admitted tasks of a limit that no worker has claimed yet arrive again, because its numbers are others now. They are
-- subtracted from their keys, as tasks that have ended.
WITH found AS MATERIALIZED (
    SELECT r.ctid AS task, r.queue, r.job_id, r.stage, r.part
    FROM reelstate.tasks r
    WHERE r.status = 'ready' AND r.queue IS NOT NULL
      AND r.lane = ANY (ARRAY(
          SELECT DISTINCT side.sign * q.lane FROM reelstate.limit_keys k JOIN reelstate.limit_queues q ON k.id = ANY (q.keys)
          CROSS JOIN (VALUES (1), (-1)) AS side (sign) WHERE k.limit_id = %(limit_id)s))
      AND EXISTS (SELECT FROM reelstate.limit_queues q JOIN reelstate.limit_keys k ON k.id = ANY (q.keys)
                  WHERE q.id = r.queue AND k.limit_id = %(limit_id)s)
    FOR UPDATE OF r SKIP LOCKED
), ended AS (
    INSERT INTO reelstate.limit_ended (queue) SELECT queue FROM found
), unexpected AS (
    DELETE FROM reelstate.limit_starts s USING found
    WHERE s.job_id = found.job_id AND s.stage = found.stage AND s.part = found.part AND s.at IS NULL
)
UPDATE reelstate.tasks t SET lane = t.lane + sign(t.lane)::integer * 268435456
WHERE t.ctid = ANY (ARRAY(SELECT task FROM found))
RETURNING t.job_id
