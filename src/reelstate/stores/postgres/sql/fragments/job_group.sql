(SELECT g.name FROM reelstate.group_jobs m JOIN reelstate.groups g ON g.id = m.group_id WHERE m.job_id = j.id) AS "group"
