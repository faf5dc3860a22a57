SELECT t.job_id, t.stage, t.part, t.status,
       'token ' || t.token || ', but ' || max(e.token) || ' is in its events' AS detail
FROM tasks AS t
JOIN events AS e ON e.job_id = t.job_id AND e.stage = t.stage AND e.part = t.part AND e.entity IN ('task', 'task+job')
GROUP BY t.job_id, t.stage, t.part HAVING max(e.token) > t.token
ORDER BY t.job_id, t.stage, t.part LIMIT :limit
