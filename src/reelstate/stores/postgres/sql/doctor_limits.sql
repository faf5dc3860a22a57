-- Keys of limits whose count is not that of their tasks: those that run, may be claimed, or have ended unseen.
SELECT -1::bigint AS job_id, -1 AS stage, -1 AS part, 'limit' AS status,
       m.name || CASE WHEN k.key = '' THEN '' ELSE ' ' || k.key END || ': counted ' || k.admitted || ', there are '
       || counted.tasks AS detail
FROM ({limit_counts}) AS counted
JOIN reelstate.limit_keys k ON k.id = counted.id JOIN reelstate.limits m ON m.id = k.limit_id
WHERE k.admitted <> counted.tasks
ORDER BY k.id LIMIT %(limit)s
