-- The jobs of a schedule, newest first, for a search. Runs are recorded by keepers only, a few at a time.
CREATE INDEX schedule_runs_jobs ON schedule_runs (schedule_id, job_id) WHERE job_id IS NOT NULL;
