-- Move rows of jobs to the archive, in one statement: a row is in one of the tables at any time.
WITH moved AS (
{engine}    DELETE FROM reelstate.{table} WHERE {key} = ANY (%(job_ids)s::bigint[])
{states}    DELETE FROM reelstate.{table} WHERE {key} = ANY (%(names)s::text[])
    RETURNING *
), kept AS (
    INSERT INTO reelstate.{table}_archive SELECT * FROM moved
)
SELECT count(*) AS rows FROM moved
