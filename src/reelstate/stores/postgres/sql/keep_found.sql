-- Insert findings that are new.
INSERT INTO reelstate.findings (name, job_id, stage, part, subject, found_at)
SELECT name, job_id, stage, part, subject, coalesce(%(now)s::timestamptz, clock_timestamp())
FROM unnest(%(name)s::text[], %(job_id)s::bigint[], %(stage)s::smallint[], %(part)s::integer[],
            %(subject)s::text[]) AS given (name, job_id, stage, part, subject)
ORDER BY name, job_id, stage, part, subject
ON CONFLICT DO NOTHING
RETURNING name, job_id, stage, part, subject
