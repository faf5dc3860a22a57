INSERT INTO reelstate.alerts (type, subject, message, job_id, at)
SELECT 'stale_job_recovered', coalesce(p.name, '#' || j.pipeline_id), 'a worker was lost', j.id,
       coalesce(%(now)s::timestamptz, clock_timestamp())
FROM reelstate.jobs j LEFT JOIN reelstate.pipelines p ON p.id = j.pipeline_id
WHERE j.id = ANY (%(job_ids)s::bigint[]) AND EXISTS (SELECT FROM reelstate.webhooks WHERE kind = 'alert')
