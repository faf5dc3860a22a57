INSERT INTO reelstate.steps (job_id, stage, part, token, number, at, argv, exit_code, seconds, output)
SELECT job_id, stage, part, token, place, coalesce(%(now)s::timestamptz, clock_timestamp()), argv::jsonb, exit_code,
       seconds, output
FROM unnest(%(job_id)s::bigint[], %(stage)s::smallint[], %(part)s::integer[], %(token)s::bigint[],
            %(place)s::integer[], %(argv)s::text[], %(exit_code)s::integer[], %(seconds)s::double precision[],
            %(output)s::text[])
     AS given (job_id, stage, part, token, place, argv, exit_code, seconds, output)
ON CONFLICT (job_id, stage, part, token, number) DO NOTHING
