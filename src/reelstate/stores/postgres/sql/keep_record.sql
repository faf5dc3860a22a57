-- Write each change of the findings as an event. The keeper's row counts them, so that the versions have no gap.
WITH counted AS (
    UPDATE reelstate.keeper SET findings = findings + cardinality(%(target)s::text[])
    RETURNING findings - cardinality(%(target)s::text[]) AS before
)
INSERT INTO reelstate.events (entity, version, origin, target, actor, reason, data, at)
SELECT 'finding', counted.before + given.number, origin, target, 'keeper', reason, data::jsonb,
       coalesce(%(now)s::timestamptz, clock_timestamp())
FROM counted, unnest(%(origin)s::text[], %(target)s::text[], %(reason)s::text[], %(data)s::text[])
    WITH ORDINALITY AS given (origin, target, reason, data, number)
ORDER BY given.number
