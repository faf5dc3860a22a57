-- Record a change of a schedule as an event. The keeper's row counts them, so that the versions have no gap.
WITH counted AS (
    UPDATE reelstate.keeper SET findings = findings + 1 RETURNING findings
)
INSERT INTO reelstate.events (entity, version, target, actor, reason, data, at)
SELECT 'finding', findings, %(target)s, %(actor)s, %(reason)s, %(data)s::jsonb, coalesce(%(now)s::timestamptz, clock_timestamp())
FROM counted
