INSERT INTO reelstate.removed_versions (video_id, job_id, removed_at)
SELECT video_id, job_id, coalesce(%(now)s::timestamptz, clock_timestamp())
FROM unnest(%(video_id)s::bigint[], %(job_id)s::bigint[]) AS given (video_id, job_id)
ON CONFLICT (job_id) DO NOTHING
