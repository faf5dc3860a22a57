-- The next active jobs after a position, by an index probe per status: those in which no task is left to run, though they
-- are not completed (their next step was missed) and do not wait for other jobs, and the last one that was looked at, where
-- there may be more.
WITH active AS MATERIALIZED (
    SELECT id, changed_at FROM (
    SELECT id, changed_at FROM (SELECT id, changed_at FROM reelstate.jobs
        WHERE status = 'pending' AND id > %(after)s ORDER BY id LIMIT %(window)s) AS pending
    UNION ALL
    SELECT id, changed_at FROM (SELECT id, changed_at FROM reelstate.jobs
        WHERE status = 'validating' AND id > %(after)s ORDER BY id LIMIT %(window)s) AS validating
    UNION ALL
    SELECT id, changed_at FROM (SELECT id, changed_at FROM reelstate.jobs
        WHERE status = 'planning' AND id > %(after)s ORDER BY id LIMIT %(window)s) AS planning
    UNION ALL
    SELECT id, changed_at FROM (SELECT id, changed_at FROM reelstate.jobs
        WHERE status = 'downloading_inputs' AND id > %(after)s ORDER BY id LIMIT %(window)s) AS downloading_inputs
    UNION ALL
    SELECT id, changed_at FROM (SELECT id, changed_at FROM reelstate.jobs
        WHERE status = 'processing' AND id > %(after)s ORDER BY id LIMIT %(window)s) AS processing
    UNION ALL
    SELECT id, changed_at FROM (SELECT id, changed_at FROM reelstate.jobs
        WHERE status = 'uploading_outputs' AND id > %(after)s ORDER BY id LIMIT %(window)s) AS uploading_outputs
    ) AS each ORDER BY id LIMIT %(window)s
)
SELECT a.id AS job_id, true AS stuck FROM active AS a
WHERE a.changed_at <= coalesce(%(now)s::timestamptz, clock_timestamp()) - make_interval(secs => %(older)s)
  AND NOT EXISTS (
      SELECT FROM reelstate.opened_stages AS s
      WHERE s.job_id = a.id AND s.open AND s.done + s.skipped + s.failed < s.total OFFSET 0)
  AND NOT EXISTS (SELECT FROM reelstate.waits AS w WHERE w.job_id = a.id AND w.ended_at IS NULL OFFSET 0)
UNION ALL
SELECT max(id), false FROM active HAVING count(*) = %(window)s
ORDER BY 2 DESC, 1
