SELECT id, graph FROM pipelines WHERE id IN (SELECT value FROM json_each(:pipeline_ids))
