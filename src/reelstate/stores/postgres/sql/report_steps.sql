INSERT INTO reelstate.steps (job_id, stage, part, token, number, at, type, started_at, argv, exit_code, seconds, output)
SELECT job_id, stage, part, token, step, clock.now, type,
       least(clock.now, coalesce(to_timestamp(started), clock.now - make_interval(secs => seconds))), argv::jsonb,
       exit_code, seconds, output
FROM unnest(%(job_id)s::bigint[], %(stage)s::smallint[], %(part)s::integer[], %(token)s::bigint[],
            %(step)s::integer[], %(type)s::text[], %(started)s::double precision[], %(argv)s::text[],
            %(exit_code)s::integer[], %(seconds)s::double precision[], %(output)s::text[])
     AS given (job_id, stage, part, token, step, type, started, argv, exit_code, seconds, output)
CROSS JOIN (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock
ON CONFLICT (job_id, stage, part, token, number) DO NOTHING
