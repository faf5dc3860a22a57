-- Write what became of ticks. A tick that has made a job keeps it.
WITH given (key, tick, source, outcome, job_id, reason) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'),
           json_extract(value, '$[3]'), json_extract(value, '$[4]'), json_extract(value, '$[5]')
    FROM json_each(:rows)
)
INSERT INTO schedule_runs (schedule_id, key, tick, source, outcome, job_id, reason, active, at)
SELECT :id, key, tick, source, outcome, job_id, reason, job_id IS NOT NULL, :now FROM given WHERE true
ON CONFLICT (schedule_id, key) DO UPDATE SET source = excluded.source, outcome = excluded.outcome,
    job_id = excluded.job_id, reason = excluded.reason, active = excluded.active, at = excluded.at
WHERE schedule_runs.outcome <> 'submitted'
