e.id - CASE WHEN half.n = 0 AND e.entity IN ('task+job', 'job+stage') THEN 1 ELSE 0 END AS id,
       CASE e.entity WHEN 'task+job' THEN CASE half.n WHEN 0 THEN 'task' ELSE 'job' END
                     WHEN 'job+stage' THEN CASE half.n WHEN 0 THEN 'job' ELSE 'stage' END
                     ELSE e.entity END AS entity,
       e.job_id,
       CASE WHEN half.n = 0 THEN e.stage WHEN e.entity = 'job+stage' THEN 0 ELSE -1 END AS stage,
       CASE WHEN half.n = 0 THEN e.part ELSE -1 END AS part,
       CASE WHEN half.n = 0 THEN e.worker_id END AS worker_id,
       CASE WHEN half.n = 0 THEN e.version WHEN e.entity = 'job+stage' THEN 1 ELSE e.job_version END AS version,
       CASE WHEN half.n = 0 THEN e.origin ELSE e.job_origin END AS origin,
       CASE WHEN half.n = 0 THEN e.target WHEN e.entity = 'job+stage' THEN 'opened' ELSE e.job_target END AS target,
       CASE WHEN half.n = 1 AND (e.entity = 'job+stage' OR e.job_target = 'completed') THEN 'orchestrator'
            ELSE e.actor END AS actor,
       CASE WHEN half.n = 0 THEN e.reason END AS reason,
       CASE WHEN half.n = 0 THEN e.token END AS token,
       CASE WHEN half.n = 0 THEN e.data WHEN e.entity = 'job+stage' THEN '{"total": 1}' END AS data,
       e.at