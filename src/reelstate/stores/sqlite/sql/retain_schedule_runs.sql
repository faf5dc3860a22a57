-- Delete old runs of schedules that do not wait.
DELETE FROM schedule_runs WHERE (schedule_id, key) IN (
    SELECT r.schedule_id, r.key FROM schedule_runs AS r
    WHERE r.at < :past AND r.outcome <> 'queued' ORDER BY r.at LIMIT :limit);
SELECT changes() AS rows
