-- Versions that nobody will play again: completed before another that has been there for so long, cancelled, or of a
-- video that was deleted. Not the pinned one, nor one from which a version that is still wanted took what it did not
-- make itself. The time is counted from the last pin or unpin too, so that a version is not gone as it is unpinned.
SELECT j.resource_id AS video_id, j.id AS job_id
FROM reelstate.jobs j
JOIN reelstate.videos v ON v.id = j.resource_id
CROSS JOIN (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) - make_interval(secs => %(keep)s) AS past) AS clock
WHERE (%(video_ids)s::bigint[] IS NULL OR j.resource_id = ANY (%(video_ids)s::bigint[]))
  AND j.resource_id IS NOT NULL AND j.status IN ('completed', 'cancelled') AND j.finished_at <= clock.past
  AND NOT EXISTS (SELECT FROM reelstate.removed_versions r WHERE r.job_id = j.id)
  AND CASE
        WHEN v.deleted_at IS NOT NULL THEN v.deleted_at <= clock.past
        WHEN j.status = 'cancelled' THEN true
        ELSE v.pinned IS DISTINCT FROM j.id AND v.changed_at <= clock.past
          AND EXISTS (SELECT FROM reelstate.jobs n
                      WHERE n.resource_id = j.resource_id AND n.id > j.id AND n.status = 'completed'
                        AND n.finished_at <= clock.past
                        AND NOT EXISTS (SELECT FROM reelstate.removed_versions r WHERE r.job_id = n.id))
          AND NOT EXISTS (SELECT FROM reelstate.jobs u
                          WHERE u.resource_id = j.resource_id AND u.id > j.id AND u.status <> 'cancelled'
                            AND u.spec ->> 'reuse_from' = j.id::text
                            AND NOT EXISTS (SELECT FROM reelstate.removed_versions r WHERE r.job_id = u.id))
      END
ORDER BY j.id LIMIT %(limit)s
