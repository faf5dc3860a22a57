-- Move the ready tasks of a stage to another lane. Their status does not change, so there is no event.
UPDATE tasks SET lane = CASE WHEN lane < 0 THEN -:lane ELSE :lane END
WHERE job_id = :job_id AND stage = :stage AND status = 'ready' AND abs(lane) = :origin
