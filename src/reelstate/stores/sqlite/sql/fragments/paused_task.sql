EXISTS (
              SELECT 1 FROM pauses AS p CROSS JOIN jobs AS owning ON owning.id = r.job_id
              LEFT JOIN pipelines AS declared ON p.scope = 'stage' AND declared.id = owning.pipeline_id
              WHERE p.resumed_at IS NULL AND p.scope IN ('user', 'stage')
                AND CASE p.scope WHEN 'user' THEN p.name = owning.user_id
                    ELSE p.name = declared.name
                         AND p.stage = json_extract(declared.graph, '$.stages[' || r.stage || '].name') END)
