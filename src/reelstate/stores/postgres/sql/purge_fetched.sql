-- The sha256 of the sources that tasks of these jobs have fetched, or were about to.
SELECT DISTINCT said.sha256
FROM reelstate.tasks t
CROSS JOIN LATERAL (VALUES (t.result ->> 'source'), (t.checkpoint ->> 'source')) AS said (sha256)
WHERE t.job_id = ANY (%(job_ids)s::bigint[]) AND t.part = 0 AND said.sha256 ~ '^[0-9a-f]{64}$'
ORDER BY 1
