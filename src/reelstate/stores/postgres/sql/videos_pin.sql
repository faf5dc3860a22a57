-- Only to a completed version of the same video whose bytes are still wanted; or, without a job, to none.
UPDATE reelstate.videos v
SET pinned = %(job_id)s::bigint, version = v.version + 1, actor = %(actor)s, reason = %(reason)s,
    changed_at = coalesce(%(now)s::timestamptz, clock_timestamp())
WHERE v.id = %(video_id)s AND v.deleted_at IS NULL AND v.pinned IS DISTINCT FROM %(job_id)s::bigint
  AND (%(job_id)s::bigint IS NULL
       OR EXISTS (SELECT FROM reelstate.jobs j
                  WHERE j.id = %(job_id)s::bigint AND j.resource_id = v.id AND j.status = 'completed')
          AND NOT EXISTS (SELECT FROM reelstate.removed_versions r WHERE r.job_id = %(job_id)s::bigint))
RETURNING v.id
