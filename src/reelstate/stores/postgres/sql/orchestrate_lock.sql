SELECT id, pipeline_id, status, phase, priority, version,
       greatest(0, coalesce(extract(epoch FROM run_after - coalesce(%(now)s::timestamptz, clock_timestamp())), 0))::float8 AS delay,
       extract(epoch FROM coalesce(%(now)s::timestamptz, clock_timestamp()) - changed_at)::float8 AS in_state,
       extract(epoch FROM coalesce(%(now)s::timestamptz, clock_timestamp()) - created_at)::float8 AS age, trace
FROM reelstate.jobs WHERE id = ANY (%(job_ids)s::bigint[]) ORDER BY id FOR UPDATE
