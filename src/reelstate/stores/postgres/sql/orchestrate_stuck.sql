-- Active jobs in which no task is left to run, though they are not completed: their next step was missed.
SELECT j.id AS job_id
FROM reelstate.jobs j
WHERE j.status IN ('pending', 'validating', 'planning', 'downloading_inputs', 'processing', 'uploading_outputs')
  AND j.changed_at <= coalesce(%(now)s::timestamptz, clock_timestamp()) - make_interval(secs => %(older)s)
  AND NOT EXISTS (
      SELECT FROM reelstate.opened_stages s
      WHERE s.job_id = j.id AND s.open AND s.done + s.skipped + s.failed < s.total)
ORDER BY j.id LIMIT %(limit)s
