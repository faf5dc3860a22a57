-- Versions that stay in the tables of the engine: all but those whose files are deleted. The newest one of a video stays
-- with it, because the status of the video is read from it.
SELECT j.id FROM reelstate.jobs AS j
JOIN reelstate.videos AS v ON v.id = j.resource_id
WHERE j.id = ANY (%(job_ids)s::bigint[])
  AND NOT (EXISTS (SELECT 1 FROM reelstate.removed_versions AS r WHERE r.job_id = j.id AND r.swept_at IS NOT NULL)
           AND (v.deleted_at IS NOT NULL
                OR EXISTS (SELECT 1 FROM reelstate.jobs AS n WHERE n.resource_id = j.resource_id AND n.id > j.id)))
ORDER BY j.id
