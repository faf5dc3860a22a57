-- Pin one version of a pipeline, or none. Every row of the name is written, so that two pins at once wait for each other.
UPDATE reelstate.pipelines SET pinned = id IS NOT DISTINCT FROM %(pipeline_id)s::integer WHERE name = %(name)s
