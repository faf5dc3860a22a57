-- Delete rows of jobs for good.
WITH gone AS (
{engine}    DELETE FROM reelstate.{table} WHERE {key} = ANY (%(job_ids)s::bigint[])
{states}    DELETE FROM reelstate.{table} WHERE {key} = ANY (%(names)s::text[])
    RETURNING 1
)
SELECT count(*) AS rows FROM gone
