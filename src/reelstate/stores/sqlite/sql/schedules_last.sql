-- The newest run of each of these schedules.
SELECT {run_columns}
FROM json_each(:ids) AS given
CROSS JOIN schedule_runs AS r ON r.schedule_id = given.value
 AND r.key = (SELECT s.key FROM schedule_runs AS s WHERE s.schedule_id = given.value
              ORDER BY s.at DESC, s.tick DESC LIMIT 1)
LEFT JOIN jobs AS j ON j.id = r.job_id
