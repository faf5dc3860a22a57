-- Finish the round of those groups in which no job is active.
UPDATE groups SET finished_at = :now
WHERE id IN (SELECT value FROM json_each(:ids)) AND finished_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM group_jobs AS m WHERE m.group_id = groups.id AND m.outcome IS NULL)
RETURNING id, user_id, name, round, callback_id, callback_url, callback_lane, created_at, finished_at
