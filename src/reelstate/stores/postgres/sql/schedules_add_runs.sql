-- Write what became of ticks. A tick that has made a job keeps it.
INSERT INTO reelstate.schedule_runs AS r (schedule_id, key, tick, source, outcome, job_id, reason, active, at)
SELECT %(id)s, key, to_timestamp(tick), source, outcome, job_id, reason, job_id IS NOT NULL, coalesce(%(now)s::timestamptz, clock_timestamp())
FROM unnest(%(key)s::text[], %(tick)s::double precision[], %(source)s::text[], %(outcome)s::text[], %(job_id)s::bigint[],
            %(reason)s::text[]) AS given (key, tick, source, outcome, job_id, reason)
ON CONFLICT (schedule_id, key) DO UPDATE SET source = excluded.source, outcome = excluded.outcome,
    job_id = excluded.job_id, reason = excluded.reason, active = excluded.active, at = excluded.at
WHERE r.outcome <> 'submitted'
