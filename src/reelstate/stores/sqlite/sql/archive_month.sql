-- How much a month of the archive holds.
SELECT count(*) AS jobs, max(finished_at) AS finished_at FROM jobs
