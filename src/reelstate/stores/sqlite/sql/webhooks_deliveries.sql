SELECT d.id, d.webhook_id, d.type, d.job_id, d.status, d.attempt, d.created_at, d.next_at, d.finished_at,
       coalesce(d.url, w.url) AS url, (SELECT value FROM facts WHERE name = 'epoch') AS epoch
FROM deliveries AS d JOIN webhooks AS w ON w.id = d.webhook_id
WHERE d.webhook_id = :webhook_id AND (:owner IS NULL OR w.user_id = :owner)
  AND (:job_id IS NULL OR d.job_id = :job_id) AND (:status IS NULL OR d.status = :status)
  AND (:id IS NULL OR d.id = :id) AND d.id < :before
ORDER BY d.id DESC LIMIT :limit
