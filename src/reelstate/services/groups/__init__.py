"""Groups of jobs, and jobs that wait for other jobs or groups."""
