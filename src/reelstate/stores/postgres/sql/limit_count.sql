-- Add admitted tasks to their keys, which never have more than their limit through that.
UPDATE reelstate.limit_keys k SET admitted = k.admitted + given.tasks
FROM unnest(%(id)s::bigint[], %(tasks)s::integer[]) AS given (id, tasks), reelstate.limits m
WHERE k.id = given.id AND m.id = k.limit_id
  AND (%(adopted)s::boolean OR m.removed_at IS NOT NULL OR m.running IS NULL OR k.admitted + given.tasks <= m.running)
RETURNING k.id
