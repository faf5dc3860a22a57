WITH folded AS (
    UPDATE reelstate.alerts a SET folded_at = coalesce(%(now)s::timestamptz, clock_timestamp())
    FROM unnest(%(type)s::text[], %(subject)s::text[]) AS given (type, subject)
    WHERE a.type = given.type AND a.subject = given.subject AND a.folded_at IS NULL
    RETURNING a.id, a.type, a.subject, a.message, a.job_id
)
SELECT type, subject, message, job_id FROM folded ORDER BY id
