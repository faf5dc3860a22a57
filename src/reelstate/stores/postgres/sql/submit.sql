-- Insert jobs that differ in their id, spec and trace only.
WITH clock AS (
    SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now
), given AS (
    SELECT id, spec, trace FROM unnest(%(id)s::bigint[], %(spec)s::text[], %(trace)s::text[]) AS given (id, spec, trace)
)
{insert_jobs}
