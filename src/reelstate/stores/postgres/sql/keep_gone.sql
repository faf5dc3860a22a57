-- Delete findings that are gone.
DELETE FROM reelstate.findings f
WHERE (f.name, f.job_id, f.stage, f.part, f.subject) NOT IN (
    SELECT name, job_id, stage, part, subject
    FROM unnest(%(name)s::text[], %(job_id)s::bigint[], %(stage)s::smallint[], %(part)s::integer[],
                %(subject)s::text[]) AS given (name, job_id, stage, part, subject))
RETURNING f.name, f.job_id, f.stage, f.part, f.subject
