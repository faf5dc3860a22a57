-- The ready tasks that these workers would claim before a task, up to `cap`: those before it in the order of claims, in
-- each lane that one of them serves, or for an isolated task in the lanes of isolated tasks.
WITH served AS MATERIALIZED (
    SELECT CASE WHEN %(isolated)s THEN -l.id ELSE l.id END AS lane
    FROM reelstate.lanes l
    WHERE EXISTS (SELECT FROM reelstate.workers w
                  WHERE w.id = ANY (%(workers)s::bigint[]) AND l.pipeline = ANY (w.pipelines) AND l.needs <@ w.capabilities)
      AND NOT EXISTS (SELECT FROM reelstate.pauses p
                      WHERE p.resumed_at IS NULL AND p.scope = 'pipeline' AND p.name = l.pipeline)
)
SELECT count(*) AS tasks
FROM (
    SELECT FROM served CROSS JOIN LATERAL (
        (SELECT FROM reelstate.tasks t
         WHERE t.lane = served.lane AND t.status = 'ready' AND t.priority > %(priority)s LIMIT %(cap)s)
        UNION ALL
        (SELECT FROM reelstate.tasks t
         WHERE t.lane = served.lane AND t.status = 'ready' AND t.priority = %(priority)s
           AND (t.job_id, t.stage, t.part) < (%(job_id)s, %(stage)s, %(part)s) LIMIT %(cap)s)
    ) AS earlier
    LIMIT %(cap)s
) AS counted
