(SELECT g.name FROM group_jobs AS m JOIN groups AS g ON g.id = m.group_id WHERE m.job_id = j.id) AS "group"
