-- The sha256 of the sources that tasks of these jobs have fetched, or were about to.
SELECT DISTINCT said.sha256
FROM (
    SELECT CASE WHEN json_valid(t.result) THEN json_extract(t.result, '$.source') END AS sha256 FROM tasks AS t
    WHERE t.job_id IN (SELECT value FROM json_each(:job_ids)) AND t.part = 0
    UNION ALL
    SELECT CASE WHEN json_valid(t.checkpoint) THEN json_extract(t.checkpoint, '$.source') END FROM tasks AS t
    WHERE t.job_id IN (SELECT value FROM json_each(:job_ids)) AND t.part = 0
) AS said
WHERE length(said.sha256) = 64 AND said.sha256 NOT GLOB '*[^0-9a-f]*'
ORDER BY 1
