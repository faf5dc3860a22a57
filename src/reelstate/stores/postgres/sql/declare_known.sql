SELECT id, graph FROM reelstate.pipelines WHERE id = ANY (%(pipeline_ids)s::integer[])
