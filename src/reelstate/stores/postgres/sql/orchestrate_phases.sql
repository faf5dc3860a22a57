-- Set the phase of jobs that are still pending; it is shown from the next claim on.
UPDATE reelstate.jobs j SET phase = given.phase
FROM unnest(%(id)s::bigint[], %(phase)s::text[]) AS given (id, phase)
WHERE j.id = given.id AND (j.status = 'pending') IS TRUE
