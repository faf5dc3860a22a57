-- Change the numbers of a limit that selects the same tasks; queues that it blocks are looked at again. A limit that comes
-- with a pipeline does not change one that an operator has set.
WITH changed AS (
    UPDATE reelstate.limits
    SET running = %(running)s, starts = %(starts)s, period = %(period)s, weights = %(weights)s::jsonb, declared = %(declared)s,
        reason = %(reason)s, actor = %(actor)s, changed_at = coalesce(%(now)s::timestamptz, clock_timestamp())
    WHERE name = %(name)s AND removed_at IS NULL AND (declared OR NOT %(declared)s::boolean)
      AND pipeline IS NOT DISTINCT FROM %(pipeline)s AND stage IS NOT DISTINCT FROM %(stage)s
      AND user_id IS NOT DISTINCT FROM %(user_id)s AND per IS NOT DISTINCT FROM %(per)s
    RETURNING *
), again AS (
    UPDATE reelstate.limit_keys SET retry_at = changed.changed_at FROM changed WHERE limit_id = changed.id
)
SELECT {limit_columns} FROM changed
