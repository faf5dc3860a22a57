-- Set the outcomes of jobs in their groups, and let the keeper look at them again.
WITH repaired AS (
    UPDATE reelstate.group_jobs m
    SET outcome = CASE WHEN j.status IN ('completed', 'failed', 'quarantined', 'cancelled') THEN j.status END
    FROM reelstate.jobs j
    WHERE m.job_id = ANY (%(job_ids)s::bigint[]) AND j.id = m.job_id
    RETURNING m.job_id, m.outcome
)
INSERT INTO reelstate.ended_jobs (job_id, active) SELECT job_id, outcome IS NULL FROM repaired
