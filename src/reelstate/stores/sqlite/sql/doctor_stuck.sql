SELECT j.id AS job_id, -1 AS stage, -1 AS part, j.status, 'active, but it has no unfinished open stage' AS detail
FROM jobs AS j
WHERE j.status IN ('pending', 'validating', 'planning', 'downloading_inputs', 'processing', 'uploading_outputs')
  AND j.status <> 'completed'
  AND NOT EXISTS (
      SELECT 1 FROM opened_stages AS s
      WHERE s.job_id = j.id AND s.open AND s.done + s.skipped + s.failed < s.total)
  AND NOT EXISTS (SELECT 1 FROM waits AS w WHERE w.job_id = j.id AND w.ended_at IS NULL)
ORDER BY j.id LIMIT :limit
