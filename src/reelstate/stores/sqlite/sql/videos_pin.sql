-- Only to a completed version of the same video whose bytes are still wanted; or, without a job, to none.
UPDATE videos
SET pinned = :job_id, version = version + 1, actor = :actor, reason = :reason, changed_at = :now
WHERE id = :video_id AND deleted_at IS NULL AND pinned IS NOT :job_id
  AND (:job_id IS NULL
       OR EXISTS (SELECT 1 FROM jobs AS j WHERE j.id = :job_id AND j.resource_id = :video_id AND j.status = 'completed')
          AND NOT EXISTS (SELECT 1 FROM removed_versions AS r WHERE r.job_id = :job_id))
RETURNING id
