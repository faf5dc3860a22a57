-- Active jobs in which no task is left to run, though they are not completed: their next step was missed.
SELECT j.id AS job_id
FROM jobs AS j
WHERE j.status IN ('pending', 'validating', 'planning', 'downloading_inputs', 'processing', 'uploading_outputs')
  AND j.status <> 'completed'
  AND j.changed_at <= :now - :older
  AND NOT EXISTS (
      SELECT 1 FROM opened_stages AS s
      WHERE s.job_id = j.id AND s.open AND s.done + s.skipped + s.failed < s.total)
ORDER BY j.id LIMIT :limit
