-- Each change of the findings as an event. The row of the keepers counts them, so that no number is left out.
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
