-- Versions that nobody will play again: completed before another that has been there for so long, cancelled, or of a
-- video that was deleted. Not the pinned one, nor one from which a version that is still wanted took what it did not
-- make itself. The time is counted from the last pin or unpin too, so that a version is not gone as it is unpinned.
SELECT j.resource_id AS video_id, j.id AS job_id
FROM jobs AS j INDEXED BY jobs_by_resource CROSS JOIN videos AS v ON v.id = j.resource_id
WHERE j.resource_id IS NOT NULL
  AND (:video_ids IS NULL OR j.resource_id IN (SELECT value FROM json_each(:video_ids)))
  AND j.status IN ('completed', 'cancelled') AND j.finished_at <= :now - :keep
  AND NOT EXISTS (SELECT 1 FROM removed_versions AS r WHERE r.job_id = j.id)
  AND CASE
        WHEN v.deleted_at IS NOT NULL THEN v.deleted_at <= :now - :keep
        WHEN j.status = 'cancelled' THEN 1
        ELSE v.pinned IS NOT j.id AND v.changed_at <= :now - :keep
          AND EXISTS (SELECT 1 FROM jobs AS n
                      WHERE n.resource_id = j.resource_id AND n.id > j.id AND n.status = 'completed'
                        AND n.finished_at <= :now - :keep
                        AND NOT EXISTS (SELECT 1 FROM removed_versions AS r WHERE r.job_id = n.id))
          AND NOT EXISTS (SELECT 1 FROM jobs AS u
                          WHERE u.resource_id = j.resource_id AND u.id > j.id AND u.status <> 'cancelled'
                            AND json_extract(u.spec, '$.reuse_from') = j.id
                            AND NOT EXISTS (SELECT 1 FROM removed_versions AS r WHERE r.job_id = u.id))
      END
ORDER BY j.id LIMIT :limit
