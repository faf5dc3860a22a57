-- The backstop: jobs at work in which nothing can move any more, though some stage is closed or none is open.
SELECT j.id
FROM reelstate.jobs j
WHERE j.status IN ('pending', 'validating', 'planning', 'downloading_inputs', 'processing', 'uploading_outputs')
  AND j.changed_at <= coalesce(%(now)s::timestamptz, clock_timestamp()) - make_interval(secs => %(older)s)
  AND NOT EXISTS (
      SELECT FROM reelstate.stages s
      WHERE s.job_id = j.id AND s.open AND s.done + s.skipped + s.failed < s.total)
ORDER BY j.id LIMIT %(limit)s
