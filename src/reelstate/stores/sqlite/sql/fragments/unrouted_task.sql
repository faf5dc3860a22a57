EXISTS (
              SELECT 1 FROM limits AS m CROSS JOIN jobs AS owning ON owning.id = r.job_id
              LEFT JOIN pipelines AS declared ON declared.id = owning.pipeline_id
              WHERE m.settled_at IS NULL AND m.removed_at IS NULL
                AND (m.pipeline IS NULL OR m.pipeline = declared.name) AND (m.user_id IS NULL OR m.user_id = owning.user_id)
           AND (m.stage IS NULL OR m.stage = json_extract(declared.graph, '$.stages[' || r.stage || '].name'))
                AND CASE WHEN m.per IS NULL THEN ''
                WHEN m.per = 'user' THEN nullif(substr(owning.user_id, 1, 255), '')
                WHEN m.per = 'job' THEN CAST(owning.id AS TEXT)
                WHEN json_type(owning.spec, '$.' || substr(m.per, 6)) IN ('true', 'false')
                THEN json_type(owning.spec, '$.' || substr(m.per, 6))
                WHEN json_type(owning.spec, '$.' || substr(m.per, 6)) IN ('text', 'integer', 'real')
                THEN nullif(substr(CAST(json_extract(owning.spec, '$.' || substr(m.per, 6)) AS TEXT), 1, 255), '') END IS NOT NULL
                AND NOT EXISTS (SELECT 1 FROM limit_queues AS known CROSS JOIN json_each(known.keys) AS part
                                CROSS JOIN limit_keys AS k ON k.id = part.value
                                WHERE known.id = r.queue AND k.limit_id = m.id))
