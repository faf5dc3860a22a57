-- Jobs that came to rest lately and still have ready tasks: a claim held those rows at that moment and left them.
SELECT j.id
FROM reelstate.jobs j
WHERE j.status IN ('failed', 'quarantined') AND j.finished_at IS NOT NULL
  AND j.changed_at > coalesce(%(now)s::timestamptz, clock_timestamp()) - make_interval(secs => %(lately)s)
  AND EXISTS (SELECT FROM reelstate.tasks t WHERE t.job_id = j.id AND t.status = 'ready')
ORDER BY j.id LIMIT %(limit)s
