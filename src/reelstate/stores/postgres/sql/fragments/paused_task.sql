EXISTS (
              SELECT FROM reelstate.jobs owning JOIN reelstate.pauses p ON p.resumed_at IS NULL AND p.scope IN ('user', 'stage')
              LEFT JOIN reelstate.pipelines declared ON p.scope = 'stage' AND declared.id = owning.pipeline_id
              WHERE owning.id = r.job_id
                AND CASE p.scope WHEN 'user' THEN p.name = owning.user_id
                    ELSE p.name = declared.name
                         AND p.stage = declared.graph -> 'stages' -> r.stage::integer ->> 'name' END)
