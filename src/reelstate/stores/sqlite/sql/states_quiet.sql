-- Jobs whose newest state is old and whose states are all finished. The states of a stage are deleted when its job is
-- finished, whatever they are: before, the stage may still be read, or run again.
WITH named AS (
    SELECT j.*, substr(job_id, 1, instr(job_id, '.') - 1) AS number, substr(job_id, instr(job_id, '.') + 1) AS stage
    FROM state_jobs AS j WHERE deleted_at IS NULL
), owned AS (
    SELECT named.*, number <> '' AND number NOT GLOB '*[^0-9]*' AND length(number) < 19
                    AND stage GLOB '[a-z]*' AND stage NOT GLOB '*[^a-z0-9_-]*' AS of_a_stage
    FROM named
)
SELECT o.job_id FROM owned AS o
WHERE (SELECT max(s.at) <= :now - :older AND (o.of_a_stage OR min(s.status) = 2147483647)
       FROM states AS s WHERE s.job_id = o.job_id AND s.generation = o.generation)
  AND NOT (o.of_a_stage AND EXISTS (SELECT 1 FROM jobs AS e WHERE e.id = CAST(o.number AS INTEGER)
                                     AND e.status NOT IN ('completed', 'cancelled')))
ORDER BY o.job_id LIMIT :limit
