-- Jobs that have stopped recently and still have ready tasks: a claim had locked those rows and did not lease them.
SELECT j.id AS job_id
FROM reelstate.jobs j
WHERE j.status IN ('failed', 'quarantined') AND j.finished_at IS NOT NULL
  AND j.changed_at > coalesce(%(now)s::timestamptz, clock_timestamp()) - make_interval(secs => %(recent)s)
  AND EXISTS (SELECT FROM reelstate.tasks t WHERE t.job_id = j.id AND (t.status = 'ready') IS TRUE OFFSET 0)
ORDER BY j.id LIMIT %(limit)s
