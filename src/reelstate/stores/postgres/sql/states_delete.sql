-- The job becomes a tombstone; its states go with it.
WITH gone AS (
    UPDATE reelstate.state_jobs SET deleted_at = coalesce(%(now)s::timestamptz, clock_timestamp())
    WHERE job_id = ANY (%(job_ids)s::text[]) AND deleted_at IS NULL
    RETURNING job_id
), states AS (
    DELETE FROM reelstate.states s USING gone WHERE s.job_id = gone.job_id
), log AS (
    DELETE FROM reelstate.state_log l USING gone WHERE l.job_id = gone.job_id
)
SELECT job_id FROM gone
