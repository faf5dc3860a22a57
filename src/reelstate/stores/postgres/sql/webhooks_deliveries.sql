SELECT d.id, d.webhook_id, d.type, d.job_id, d.status, d.attempt, d.created_at, d.next_at, d.finished_at,
       coalesce(d.url, w.url) AS url, (SELECT value FROM reelstate.facts WHERE name = 'epoch') AS epoch
FROM reelstate.deliveries d JOIN reelstate.webhooks w ON w.id = d.webhook_id
WHERE d.webhook_id = %(webhook_id)s AND (%(owner)s::text IS NULL OR w.user_id = %(owner)s)
  AND (%(job_id)s::bigint IS NULL OR d.job_id = %(job_id)s) AND (%(status)s::text IS NULL OR d.status = %(status)s)
  AND (%(id)s::bigint IS NULL OR d.id = %(id)s) AND d.id < %(before)s
ORDER BY d.id DESC LIMIT %(limit)s
