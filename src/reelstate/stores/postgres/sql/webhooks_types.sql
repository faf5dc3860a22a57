-- The event types that a process knows, and the transitions of jobs that cause them.
INSERT INTO reelstate.event_types (name, origin, target, resources)
SELECT name, origin, target, resources
FROM unnest(%(name)s::text[], %(origin)s::text[], %(target)s::text[], %(resources)s::boolean[])
    AS given (name, origin, target, resources)
ON CONFLICT (name, origin, target) DO NOTHING
