-- What jobs that may still run read their source from: what their fetch came to, or has said that it will; and what was
-- uploaded, which can't be fetched from anywhere again while there is its video.
WITH unfinished AS (
    SELECT j.id, j.spec FROM reelstate.jobs j
    JOIN reelstate.pipelines p ON p.id = j.pipeline_id AND p.name = %(pipeline)s
    WHERE j.status <> 'completed' AND j.status <> 'cancelled'
)
SELECT said.source
FROM unfinished j
JOIN reelstate.tasks t ON t.job_id = j.id AND t.part = 0
CROSS JOIN LATERAL (VALUES (t.result ->> 'source'), (t.checkpoint ->> 'source')) AS said (source)
WHERE said.source IS NOT NULL
UNION
SELECT substr(spec ->> 'source', 10) FROM unfinished WHERE substr(spec ->> 'source', 1, 9) = 'stored://'
UNION
SELECT substr(source, 10) FROM reelstate.videos WHERE deleted_at IS NULL AND substr(source, 1, 9) = 'stored://'
UNION
SELECT sha256 FROM reelstate.uploads WHERE sha256 IS NOT NULL
