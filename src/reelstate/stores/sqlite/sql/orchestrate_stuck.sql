-- The next active jobs after a position, by an index probe per status: those in which no task is left to run, though they
-- are not completed (their next step was missed), and the last one that was looked at, where there may be more. SQLite uses
-- the index of unfinished jobs only where its condition is repeated.
WITH active AS MATERIALIZED (
    SELECT id, changed_at FROM (
    SELECT id, changed_at FROM (SELECT id, changed_at FROM jobs
        WHERE status = 'pending' AND status <> 'completed' AND id > :after
        ORDER BY id LIMIT :window) AS pending
    UNION ALL
    SELECT id, changed_at FROM (SELECT id, changed_at FROM jobs
        WHERE status = 'validating' AND status <> 'completed' AND id > :after
        ORDER BY id LIMIT :window) AS validating
    UNION ALL
    SELECT id, changed_at FROM (SELECT id, changed_at FROM jobs
        WHERE status = 'planning' AND status <> 'completed' AND id > :after
        ORDER BY id LIMIT :window) AS planning
    UNION ALL
    SELECT id, changed_at FROM (SELECT id, changed_at FROM jobs
        WHERE status = 'downloading_inputs' AND status <> 'completed' AND id > :after
        ORDER BY id LIMIT :window) AS downloading_inputs
    UNION ALL
    SELECT id, changed_at FROM (SELECT id, changed_at FROM jobs
        WHERE status = 'processing' AND status <> 'completed' AND id > :after
        ORDER BY id LIMIT :window) AS processing
    UNION ALL
    SELECT id, changed_at FROM (SELECT id, changed_at FROM jobs
        WHERE status = 'uploading_outputs' AND status <> 'completed' AND id > :after
        ORDER BY id LIMIT :window) AS uploading_outputs
    ) AS each ORDER BY id LIMIT :window
)
SELECT a.id AS job_id, true AS stuck FROM active AS a
WHERE a.changed_at <= :now - :older
  AND NOT EXISTS (
      SELECT 1 FROM opened_stages AS s
      WHERE s.job_id = a.id AND s.open AND s.done + s.skipped + s.failed < s.total)
  AND NOT EXISTS (SELECT 1 FROM waits AS w WHERE w.job_id = a.id AND w.ended_at IS NULL)
UNION ALL
SELECT max(id), false FROM active HAVING count(*) = :window
ORDER BY 2 DESC, 1
