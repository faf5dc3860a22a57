-- Whether an admission has something to do: a task that has ended or arrived, or a queue that may have room.
SELECT EXISTS (SELECT FROM reelstate.limit_ended)
    OR EXISTS (SELECT FROM reelstate.limit_queues WHERE waiting AND blocked_by IS NULL)
    OR EXISTS (SELECT FROM reelstate.limit_keys
               WHERE retry_at <= coalesce(%(now)s::timestamptz, clock_timestamp()))
    OR EXISTS (SELECT FROM reelstate.lanes l CROSS JOIN (VALUES (1), (-1)) AS side (sign)
               CROSS JOIN LATERAL (SELECT 1 FROM reelstate.tasks
                                   WHERE lane = side.sign * (l.id + 268435456) AND status = 'ready' LIMIT 1) AS arrived)
    AS needed
