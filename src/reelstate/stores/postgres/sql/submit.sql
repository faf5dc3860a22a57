-- Insert jobs that differ in their id and spec only.
WITH clock AS (
    SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now
), given AS (
    SELECT id, spec FROM unnest(%(id)s::bigint[], %(spec)s::text[]) AS given (id, spec)
)
{insert_jobs}
