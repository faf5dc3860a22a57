-- Videos that have changed, or have had a version finished, since then, and whose public place shows another version
-- than the one that plays; none is to be shown of a deleted one.
WITH changed AS MATERIALIZED (
    SELECT id FROM videos WHERE changed_at >= :since
    UNION
    SELECT resource_id FROM jobs WHERE resource_id IS NOT NULL AND finished_at >= :since
), seen AS (
    SELECT v.id, v.published, CASE WHEN v.deleted_at IS NULL THEN coalesce(v.pinned, (
        SELECT j.id FROM jobs AS j
        WHERE j.resource_id = v.id AND j.status = 'completed'
          AND NOT EXISTS (SELECT 1 FROM removed_versions AS r WHERE r.job_id = j.id)
        ORDER BY j.id DESC LIMIT 1)) END AS current
    FROM changed JOIN videos AS v USING (id)
)
SELECT id AS video_id, published, current FROM seen WHERE published IS NOT current
ORDER BY id LIMIT :limit
