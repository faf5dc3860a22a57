-- Record that data was purged, and how much: an event without the data.
WITH counted AS (
    UPDATE reelstate.keeper SET findings = findings + 1 RETURNING findings
)
INSERT INTO reelstate.events (entity, version, target, actor, reason, data, at)
SELECT 'finding', findings, 'purged', %(actor)s, %(reason)s, %(data)s::jsonb, coalesce(%(now)s::timestamptz, clock_timestamp())
FROM counted
