-- Record a change of a schedule as an event. The keeper's row counts them, so that the versions have no gap.
UPDATE keeper SET findings = findings + 1;
INSERT INTO events (entity, version, target, actor, reason, data, at)
SELECT 'finding', findings, :target, :actor, :reason, :data, :now FROM keeper
