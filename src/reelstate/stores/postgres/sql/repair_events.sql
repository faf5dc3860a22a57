INSERT INTO reelstate.events (entity, job_id, worker_id, stage, part, version, origin, target, actor, reason, data, at)
SELECT entity, CASE WHEN entity <> 'worker' THEN id END, CASE WHEN entity = 'worker' THEN id END, stage, part, version,
       origin, target, 'doctor', %(reason)s, '{"repair": true}', coalesce(%(now)s::timestamptz, clock_timestamp())
FROM unnest(%(entity)s::text[], %(id)s::bigint[], %(stage)s::smallint[], %(part)s::integer[], %(version)s::integer[],
            %(origin)s::text[], %(target)s::text[]) AS given (entity, id, stage, part, version, origin, target)
