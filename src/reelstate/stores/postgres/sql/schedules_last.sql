-- The newest run of each of these schedules.
SELECT {run_columns}
FROM unnest(%(ids)s::bigint[]) AS given (id)
CROSS JOIN LATERAL (SELECT * FROM reelstate.schedule_runs s WHERE s.schedule_id = given.id
                    ORDER BY s.at DESC, s.tick DESC LIMIT 1) AS r
LEFT JOIN reelstate.jobs j ON j.id = r.job_id
