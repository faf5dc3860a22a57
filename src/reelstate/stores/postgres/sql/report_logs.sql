INSERT INTO reelstate.logs (job_id, stage, part, token, at, level, message, metadata)
SELECT job_id, stage, part, token, coalesce(%(now)s::timestamptz, clock_timestamp()), level, message, metadata::jsonb
FROM unnest(%(job_id)s::bigint[], %(stage)s::smallint[], %(part)s::integer[], %(token)s::bigint[],
            %(level)s::text[], %(message)s::text[], %(metadata)s::text[])
     AS given (job_id, stage, part, token, level, message, metadata)
