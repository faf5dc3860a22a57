-- Ready tasks of a stage wait in another lane. Nothing that the machine knows changes, so there is no event.
UPDATE tasks SET lane = CASE WHEN lane < 0 THEN -:lane ELSE :lane END
WHERE job_id = :job_id AND stage = :stage AND status = 'ready' AND abs(lane) = :origin
