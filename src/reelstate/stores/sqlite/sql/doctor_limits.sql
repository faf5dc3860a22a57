-- Keys of limits whose count is not that of their tasks: those that run, may be claimed, or have ended unseen.
SELECT -1 AS job_id, -1 AS stage, -1 AS part, 'limit' AS status,
       m.name || CASE WHEN k.key = '' THEN '' ELSE ' ' || k.key END || ': counted ' || k.admitted || ', there are '
       || counted.tasks AS detail
FROM ({limit_counts}) AS counted
CROSS JOIN limit_keys AS k ON k.id = counted.id CROSS JOIN limits AS m ON m.id = k.limit_id
WHERE k.admitted <> counted.tasks
ORDER BY k.id LIMIT :limit
