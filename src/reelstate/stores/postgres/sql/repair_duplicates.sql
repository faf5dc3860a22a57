-- Of several rows for one part the one with the highest token stays.
DELETE FROM reelstate.tasks t
USING (
    SELECT ctid AS address, row_number() OVER (PARTITION BY job_id, stage, part ORDER BY token DESC, version DESC, ctid) AS rank
    FROM reelstate.tasks
    WHERE (job_id, stage, part) IN (SELECT * FROM unnest(%(job_id)s::bigint[], %(stage)s::smallint[], %(part)s::integer[]))
) AS ranked
WHERE t.ctid = ranked.address AND ranked.rank > 1
