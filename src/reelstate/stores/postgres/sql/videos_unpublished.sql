-- Videos that have changed, or have had a version finished, since then, and whose public place shows another version
-- than the one that plays; none is to be shown of a deleted one.
WITH changed AS MATERIALIZED (
    SELECT id FROM reelstate.videos WHERE changed_at >= %(since)s
    UNION
    SELECT resource_id FROM reelstate.jobs WHERE resource_id IS NOT NULL AND finished_at >= %(since)s
), seen AS (
    SELECT v.id, v.published, CASE WHEN v.deleted_at IS NULL THEN coalesce(v.pinned, (
        SELECT j.id FROM reelstate.jobs j
        WHERE j.resource_id = v.id AND j.status = 'completed'
          AND NOT EXISTS (SELECT FROM reelstate.removed_versions r WHERE r.job_id = j.id)
        ORDER BY j.id DESC LIMIT 1)) END AS current
    FROM changed JOIN reelstate.videos v USING (id)
)
SELECT id AS video_id, published, current FROM seen WHERE published IS DISTINCT FROM current
ORDER BY id LIMIT %(limit)s
