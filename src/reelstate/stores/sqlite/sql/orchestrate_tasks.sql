-- The single tasks of one-part stages.
WITH given (job_id, stage, lane, priority, attempts, max_lost, lease, stall_after, timeout, delay) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'),
           json_extract(value, '$[3]'), json_extract(value, '$[4]'), json_extract(value, '$[5]'),
           json_extract(value, '$[6]'), json_extract(value, '$[7]'), json_extract(value, '$[8]'),
           json_extract(value, '$[9]')
    FROM json_each(:rows)
)
INSERT INTO tasks (job_id, stage, part, lane, priority, max_attempts, max_lost, lease, stall_after,
    timeout, status, run_after, ready_at, changed_at, actor)
SELECT job_id, stage, 0, lane, priority, attempts, max_lost, lease, stall_after, timeout,
       CASE WHEN delay > 0 THEN 'new' ELSE 'ready' END, CASE WHEN delay > 0 THEN :now + delay END,
       CASE WHEN delay > 0 THEN NULL ELSE :now END, :now, 'orchestrator'
FROM given
