-- Record that data was purged, and how much: an event without the data.
UPDATE keeper SET findings = findings + 1;
INSERT INTO events (entity, version, target, actor, reason, data, at)
SELECT 'finding', findings, 'purged', :actor, :reason, :data, :now FROM keeper
