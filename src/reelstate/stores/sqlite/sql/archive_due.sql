-- A window of the oldest jobs, and which of them may be moved: finished long enough ago, without a run, and
-- not waited for. Jobs leave at the low end of the key, so the window needs no index on the time; `until` is the id of a job
-- created at the limit.
SELECT j.id, j.version, j.resource_id,
       (CASE WHEN j.status IN ('completed', 'cancelled') THEN j.finished_at < :before
             WHEN j.status IN ('failed', 'quarantined') THEN j.finished_at < :failed_before
             ELSE 0 END
        AND NOT EXISTS (SELECT 1 FROM tasks AS t WHERE t.job_id = j.id AND t.worker_id IS NOT NULL)
        AND NOT EXISTS (SELECT 1 FROM dependencies AS d JOIN waits AS w ON w.job_id = d.job_id
                        WHERE d.kind = 'job' AND d.target = j.id AND w.ended_at IS NULL)) AS due,
       (SELECT count(*) FROM (SELECT 1 FROM tasks AS t WHERE t.job_id = j.id LIMIT :enough)) AS tasks
FROM (SELECT * FROM jobs WHERE id > :after AND id < :until ORDER BY id LIMIT :window) AS j
ORDER BY j.id
