-- A window of the oldest jobs, and which of them may be moved: finished long enough ago, without a run, and
-- not waited for. Jobs leave at the low end of the key, so the window needs no index on the time; `until` is the id of a job
-- created at the limit.
SELECT j.id, j.version, j.resource_id,
       (CASE WHEN j.status IN ('completed', 'cancelled') THEN j.finished_at < %(before)s::timestamptz
             WHEN j.status IN ('failed', 'quarantined') THEN j.finished_at < %(failed_before)s::timestamptz
             ELSE false END
        AND NOT EXISTS (SELECT FROM reelstate.tasks t WHERE t.job_id = j.id AND t.worker_id IS NOT NULL)
        AND NOT EXISTS (SELECT FROM reelstate.dependencies d JOIN reelstate.waits w ON w.job_id = d.job_id
                        WHERE d.kind = 'job' AND d.target = j.id AND w.ended_at IS NULL)) AS due,
       (SELECT count(*) FROM (SELECT FROM reelstate.tasks t WHERE t.job_id = j.id LIMIT %(enough)s) AS counted) AS tasks
FROM (SELECT * FROM reelstate.jobs WHERE id > %(after)s AND id < %(until)s ORDER BY id LIMIT %(window)s) AS j
ORDER BY j.id
