-- The newest jobs before an id that a search selects. Only the newest `window` candidates of one index are looked at: by the
-- ids of a key (`by` = key), the groups of a name, the runs of a schedule, the owner, the statuses, or the id, which is ordered by time. The last
-- row is the lowest id looked at, negative, where the window was full; the next page continues there.
-- Differs from PostgreSQL: without LATERAL the probe of a status is a list of ids. The first line of each WHERE has no
-- column, so that it is evaluated once and a disabled path reads nothing.
WITH candidates (id) AS MATERIALIZED (
    SELECT value FROM json_each(:ids) WHERE :by = 'key' AND value > :floor AND value < :before
    UNION ALL
    SELECT * FROM (
        SELECT j.job_id
        FROM groups AS g INDEXED BY groups_by_name CROSS JOIN group_jobs AS j
        WHERE :by = 'group'
          AND g.name = :group AND (:user_id IS NULL OR g.user_id = :user_id)
          AND j.job_id IN (
            SELECT m.job_id FROM group_jobs AS m INDEXED BY group_jobs_by_group
            WHERE m.group_id = g.id AND m.job_id > :floor AND m.job_id < :before
            ORDER BY m.job_id DESC LIMIT :window)
        ORDER BY j.job_id DESC LIMIT :window)
    UNION ALL
    SELECT * FROM (
        SELECT DISTINCT r.job_id FROM schedule_runs AS r INDEXED BY schedule_runs_jobs
        WHERE :by = 'schedule'
          AND r.schedule_id = (SELECT id FROM schedules WHERE name = :schedule)
          AND r.job_id IS NOT NULL AND r.job_id > :floor AND r.job_id < :before
        ORDER BY r.job_id DESC LIMIT :window)
    UNION ALL
    SELECT * FROM (
        SELECT id FROM jobs INDEXED BY jobs_by_user
        WHERE :by = 'user'
          AND user_id = :user_id AND user_id <> '' AND id > :floor AND id < :before
        ORDER BY id DESC LIMIT :window)
    UNION ALL
    SELECT * FROM (
        SELECT j.id
        FROM json_each(:statuses) AS wanted CROSS JOIN jobs AS j
        WHERE :by = 'status'
          AND j.id IN (
            SELECT r.id FROM jobs AS r INDEXED BY jobs_by_status
            WHERE r.status = wanted.value AND r.status <> 'completed' AND r.id > :floor AND r.id < :before
            ORDER BY r.id DESC LIMIT :window)
        ORDER BY j.id DESC LIMIT :window)
    UNION ALL
    SELECT * FROM (
        SELECT id FROM jobs
        WHERE :by = 'id'
          AND id > :floor AND id < :before
        ORDER BY id DESC LIMIT :window)
), given (path, text, part) AS MATERIALIZED (
    SELECT '$."' || replace(json_extract(value, '$[0]'), '.', '"."') || '"', json_extract(value, '$[1]'), json_extract(value, '$[2]') FROM json_each(:rows)
), selected (id) AS (
    SELECT c.id FROM (SELECT id FROM candidates ORDER BY id DESC) AS c CROSS JOIN jobs AS j ON j.id = c.id
    WHERE (:statuses IS NULL OR j.status IN (SELECT value FROM json_each(:statuses)))
      AND (:pipelines IS NULL OR j.pipeline_id IN (SELECT value FROM json_each(:pipelines)))
      AND (:user_id IS NULL OR j.user_id = :user_id)
      AND j.priority BETWEEN :low AND :high
      AND (:created_from IS NULL OR j.created_at >= :created_from)
      AND (:created_until IS NULL OR j.created_at < :created_until)
      AND (:finished_from IS NULL OR j.finished_at >= :finished_from)
      AND (:finished_until IS NULL OR j.finished_at < :finished_until)
      AND (NOT :flagged OR j.flagged IS NOT NULL)
      AND (:group IS NULL OR :by = 'group' OR EXISTS (
          SELECT 1 FROM group_jobs AS m JOIN groups AS g ON g.id = m.group_id
          WHERE m.job_id = j.id AND g.name = :group))
      AND (:schedule IS NULL OR :by = 'schedule' OR EXISTS (
          SELECT 1 FROM schedule_runs AS r JOIN schedules AS s ON s.id = r.schedule_id
          WHERE r.job_id = j.id AND s.name = :schedule))
      AND NOT EXISTS (
          SELECT 1 FROM json_each(:errors) AS wanted
          WHERE NOT coalesce(instr(lower(
              CASE WHEN json_valid(j.error) THEN
                  coalesce(CASE json_type(j.error) WHEN 'text' THEN json_extract(j.error, '$') END, '') || ' '
                  || coalesce(json_extract(j.error, '$.type'), '') || ' ' || coalesce(json_extract(j.error, '$.message'), '') || ' '
                  || coalesce(CASE json_type(j.error, '$.cause') WHEN 'text' THEN json_extract(j.error, '$.cause') END, '') || ' '
                  || coalesce(json_extract(j.error, '$.cause.type'), '') || ' '
                  || coalesce(json_extract(j.error, '$.cause.message'), '') END), lower(wanted.value)) > 0, 0))
      AND NOT EXISTS (
          SELECT 1 FROM given
          WHERE NOT coalesce((
              SELECT CASE WHEN given.part THEN instr(lower(shown.value), lower(given.text)) > 0
                          ELSE shown.value = given.text END
              FROM (SELECT CASE WHEN json_valid(j.spec) THEN CASE json_type(j.spec, given.path)
                           WHEN 'true' THEN 'true' WHEN 'false' THEN 'false'
                           WHEN 'text' THEN json_extract(j.spec, given.path)
                           WHEN 'integer' THEN CAST(json_extract(j.spec, given.path) AS TEXT)
                           WHEN 'real' THEN CAST(json_extract(j.spec, given.path) AS TEXT) END END AS value) AS shown), 0))
    ORDER BY c.id DESC LIMIT :limit
)
SELECT id FROM selected
UNION ALL
SELECT -looked_at.lowest AS id
FROM (SELECT min(id) AS lowest, count(*) AS candidates FROM candidates) AS looked_at
WHERE looked_at.candidates >= :window
