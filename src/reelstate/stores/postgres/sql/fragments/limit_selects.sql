(m.pipeline IS NULL OR m.pipeline = declared.name) AND (m.user_id IS NULL OR m.user_id = owning.user_id)
           AND (m.stage IS NULL OR m.stage = declared.graph -> 'stages' -> r.stage::integer ->> 'name')
