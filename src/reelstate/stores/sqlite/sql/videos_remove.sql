WITH given (video_id, job_id) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:rows)
)
INSERT INTO removed_versions (video_id, job_id, removed_at)
SELECT video_id, job_id, :now FROM given
WHERE true
ON CONFLICT (job_id) DO NOTHING
