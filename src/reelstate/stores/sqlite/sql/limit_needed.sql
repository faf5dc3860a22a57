-- Whether an admission has something to do: a task that has ended or arrived, or a queue that may have room.
SELECT EXISTS (SELECT 1 FROM limit_ended)
    OR EXISTS (SELECT 1 FROM limit_queues WHERE waiting AND blocked_by IS NULL)
    OR EXISTS (SELECT 1 FROM limit_keys WHERE retry_at <= :now)
    OR EXISTS (SELECT 1 FROM lanes AS l CROSS JOIN tasks AS t INDEXED BY tasks_ready
               WHERE t.lane IN (l.id + 268435456, -l.id - 268435456) AND t.status = 'ready')
    AS needed
