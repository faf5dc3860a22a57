WITH named AS (
    INSERT INTO reelstate.worker_names (name) VALUES (%(name)s) ON CONFLICT (name) DO NOTHING
), kept AS (
    INSERT INTO reelstate.worker_instances (id, name) VALUES (%(id)s, %(name)s) ON CONFLICT (id) DO NOTHING
)
INSERT INTO reelstate.workers (id, name, hostname, software, kind, slots, capabilities, pipelines, metadata, actor,
    registered_at, changed_at)
SELECT %(id)s, %(name)s, %(hostname)s, %(software)s, %(kind)s, %(slots)s, %(capabilities)s::text[],
       %(pipelines)s::text[], %(metadata)s::jsonb, 'worker', clock.now, clock.now
FROM (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock
WHERE NOT EXISTS (SELECT FROM reelstate.worker_names WHERE name = %(name)s AND NOT enabled)
  AND (%(max_instances)s::integer IS NULL
       OR (SELECT count(*) FROM reelstate.workers WHERE name = %(name)s AND status <> 'offline') < %(max_instances)s)
RETURNING id
