EXISTS (
              SELECT FROM reelstate.limits m JOIN reelstate.jobs owning ON owning.id = r.job_id
              LEFT JOIN reelstate.pipelines declared ON declared.id = owning.pipeline_id
              WHERE m.settled_at IS NULL AND m.removed_at IS NULL
                AND (m.pipeline IS NULL OR m.pipeline = declared.name) AND (m.user_id IS NULL OR m.user_id = owning.user_id)
           AND (m.stage IS NULL OR m.stage = declared.graph -> 'stages' -> r.stage::integer ->> 'name')
                AND CASE WHEN m.per IS NULL THEN ''
                WHEN m.per = 'user' THEN nullif(left(owning.user_id, 255), '')
                WHEN m.per = 'job' THEN owning.id::text
                WHEN jsonb_typeof(owning.spec #> string_to_array(substr(m.per, 6), '.')) IN ('string', 'number', 'boolean')
                THEN nullif(left(owning.spec #>> string_to_array(substr(m.per, 6), '.'), 255), '') END IS NOT NULL
                AND NOT EXISTS (SELECT FROM reelstate.limit_queues known JOIN reelstate.limit_keys k ON k.id = ANY (known.keys)
                                WHERE known.id = r.queue AND k.limit_id = m.id))
