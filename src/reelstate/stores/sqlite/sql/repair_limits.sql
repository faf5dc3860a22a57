-- Count the tasks of all keys of limits anew.
UPDATE limit_keys SET admitted = counted.tasks, retry_at = :now
FROM ({limit_counts}) AS counted
WHERE limit_keys.id = counted.id AND limit_keys.admitted <> counted.tasks
