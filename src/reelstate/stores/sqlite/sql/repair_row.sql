SELECT version, status FROM jobs WHERE :entity = 'job' AND id = :id
UNION ALL
SELECT version, status FROM tasks WHERE :entity = 'task' AND job_id = :id AND stage = :stage AND part = :part
UNION ALL
SELECT version, status FROM workers WHERE :entity = 'worker' AND id = :id
