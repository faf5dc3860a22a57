-- Pin one version of a pipeline, or none.
UPDATE pipelines SET pinned = id IS :pipeline_id WHERE name = :name
