-- Some neighbouring tasks of a stage as short values: times are milliseconds since 1970.
SELECT stage, part, status, version, last_worker, attempt, max_attempts, lost, round(percent::numeric, 1)::float8 AS percent,
       (extract(epoch FROM ready_at) * 1000)::bigint AS ready, (extract(epoch FROM claimed_at) * 1000)::bigint AS claimed,
       (extract(epoch FROM started_at) * 1000)::bigint AS started, (extract(epoch FROM finished_at) * 1000)::bigint AS finished,
       (lane < 0)::integer AS isolated
FROM reelstate.tasks
WHERE job_id = %(job_id)s AND stage = %(stage)s AND part BETWEEN %(first)s AND %(last)s
ORDER BY job_id, stage, part
