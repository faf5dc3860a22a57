"""The ceiling: hand-written SQL on one psycopg connection, over the engine's own tables with all their guards on.

It writes the same rows as the engine does (job, task, an event for every transition), checked by
the same triggers and constraints, with one statement a batch: submit by 1,000, claim and complete
by 500. What it lacks is all that is not SQL: no verdicts, no limits, no lanes, no retries.
"""

import json
import time

from psycopg import AsyncConnection

from bench.engine.hand_written import HandWritten
from bench.engine.system import PartitionedSystem
from reelstate.stores.postgres.address import session_address
from reelstate.stores.postgres.store import PostgresStore

PREPARE = """
INSERT INTO reelstate.pipelines (name, digest, graph) VALUES ('ceiling', '', '{}') ON CONFLICT DO NOTHING;
INSERT INTO reelstate.worker_names (name) VALUES ('ceiling') ON CONFLICT DO NOTHING;
INSERT INTO reelstate.workers (id, name, hostname, software, actor)
VALUES (1, 'ceiling', 'localhost', 'bench', 'worker') ON CONFLICT DO NOTHING;
"""

RECORDED = "MATERIALIZED (SELECT clock_timestamp() AS now, set_config('reelstate.recorded', 'on', true) AS recorded)"

SUBMIT_SIMPLE = f"""
WITH clock AS {RECORDED},
given AS MATERIALIZED (SELECT reelstate.new_id() AS id, spec FROM unnest(%b::text[]) AS spec),
created AS (
    INSERT INTO reelstate.jobs (id, pipeline_id, actor, spec, created_at, changed_at)
    SELECT id, 1, 'user', spec::jsonb, now, now FROM given, clock
), added AS (
    INSERT INTO reelstate.tasks (job_id, stage, part, lane, status, ready_at, changed_at, actor, sole)
    SELECT id, 0, 0, 1, 'ready', now, now, 'orchestrator', true FROM given, clock
)
INSERT INTO reelstate.events (entity, job_id, version, target, actor, at)
SELECT 'job+stage', id, 1, 'pending', 'user', now FROM given, clock
"""

SUBMIT_PARTITIONED = """
WITH given AS MATERIALIZED (SELECT reelstate.new_id() AS id),
created AS (
    INSERT INTO reelstate.jobs (id, pipeline_id, actor, spec) SELECT id, 1, 'user', '{}' FROM given
), opened AS (
    INSERT INTO reelstate.stages (job_id, stage, total, sole, opened_at)
    SELECT id, 0, %b, true, clock_timestamp() FROM given
)
INSERT INTO reelstate.tasks (job_id, stage, part, lane, status, ready_at, actor, input)
SELECT id, 0, part, 1, 'ready', clock_timestamp(), 'orchestrator', to_jsonb(part)
FROM given, generate_series(0, %b - 1) AS part
"""

CLAIM = f"""
WITH clock AS {RECORDED},
picked AS MATERIALIZED (
    SELECT ctid AS tid FROM reelstate.tasks WHERE lane = 1 AND status = 'ready'
    ORDER BY priority DESC, job_id, stage, part LIMIT 500
    FOR UPDATE SKIP LOCKED
), claimed AS (
    UPDATE reelstate.tasks t
    SET status = 'running', actor = 'worker', version = version + 1, token = token + 1, attempt = attempt + 1,
        worker_id = 1, last_worker = 1, claimed_at = now, progress_at = now,
        lease_expires_at = now + interval '60 seconds', changed_at = now
    FROM clock WHERE ctid = ANY (ARRAY(SELECT tid FROM picked))
    RETURNING job_id, stage, part, token, version, input, sole
), begun AS (
    UPDATE reelstate.jobs j
    SET status = 'processing', actor = 'worker', version = j.version + 1, started_at = now, changed_at = now
    FROM claimed, clock WHERE sole AND j.id = claimed.job_id AND j.status = 'pending'
    RETURNING claimed.*, j.version AS job_version, j.spec
), others AS (
    UPDATE reelstate.jobs
    SET status = 'processing', actor = 'worker', version = version + 1, started_at = now, changed_at = now
    FROM clock WHERE id = ANY (ARRAY(SELECT job_id FROM claimed WHERE NOT sole)) AND status = 'pending'
    RETURNING id, version
), recorded AS (
    INSERT INTO reelstate.events (entity, job_id, stage, part, worker_id, version, token, at, origin, target, actor,
        job_version, job_origin, job_target)
    SELECT 'task+job', job_id, stage, part, 1, version, token, now, 'ready', 'running', 'worker', job_version,
           'pending', 'processing'
    FROM begun, clock
    UNION ALL
    SELECT 'task', job_id, stage, part, 1, version, token, now, 'ready', 'running', 'worker', NULL, NULL, NULL
    FROM claimed, clock WHERE NOT sole
    UNION ALL
    SELECT 'job', id, -1, -1, NULL, version, NULL, now, 'pending', 'processing', 'worker', NULL, NULL, NULL
    FROM others, clock
)
SELECT job_id, part, token, spec::text FROM begun
UNION ALL
SELECT job_id, part, token, input::text FROM claimed WHERE NOT sole
"""

COMPLETE = f"""
WITH clock AS {RECORDED},
finished AS (
    UPDATE reelstate.tasks t
    SET status = 'done', actor = 'worker', version = version + 1, worker_id = NULL, lease_expires_at = NULL,
        percent = 100, finished_at = now, changed_at = now
    FROM unnest(%b::bigint[], %b::integer[], %b::bigint[]) AS given (job_id, part, token), clock
    WHERE t.job_id = given.job_id AND t.stage = 0 AND t.part = given.part
      AND t.token = given.token AND t.status = 'running'
    RETURNING t.job_id, t.stage, t.part, t.token, t.version, t.sole
), counted AS (
    UPDATE reelstate.stages s SET done = done + ended
    FROM (SELECT job_id, count(*) AS ended FROM finished WHERE NOT sole GROUP BY job_id) AS batch
    WHERE s.job_id = batch.job_id AND s.stage = 0
    RETURNING s.job_id, done = total AS closed
), completed AS (
    UPDATE reelstate.jobs j
    SET status = 'completed', actor = 'orchestrator', version = j.version + 1, finished_at = now, changed_at = now
    FROM finished f, clock WHERE f.sole AND j.id = f.job_id
    RETURNING f.*, j.version AS job_version
), closed AS (
    UPDATE reelstate.jobs j
    SET status = 'completed', actor = 'orchestrator', version = version + 1, finished_at = now, changed_at = now
    FROM counted, clock WHERE closed AND j.id = counted.job_id
    RETURNING j.id, j.version
), recorded AS (
    INSERT INTO reelstate.events (entity, job_id, stage, part, worker_id, version, token, at, origin, target, actor,
        job_version, job_origin, job_target)
    SELECT 'task+job', job_id, stage, part, 1, version, token, now, 'running', 'done', 'worker', job_version,
           'processing', 'completed'
    FROM completed, clock
    UNION ALL
    SELECT 'task', job_id, stage, part, 1, version, token, now, 'running', 'done', 'worker', NULL, NULL, NULL
    FROM finished, clock WHERE NOT sole
    UNION ALL
    SELECT 'job', id, -1, -1, NULL, version, NULL, now, 'processing', 'completed', 'orchestrator', NULL, NULL, NULL
    FROM closed, clock
)
SELECT job_id FROM finished
"""


class Ceiling(HandWritten):
    """One connection."""

    settings = "hand-written SQL over the engine's tables, psycopg, uvloop, submit by 1,000, claim and complete by 500"
    submit = SUBMIT_SIMPLE

    async def prepare(self, url: str) -> None:
        await PostgresStore(url).migrate()
        self._connection = await AsyncConnection.connect(session_address(url), autocommit=True, prepare_threshold=0)
        await self._connection.execute(PREPARE, prepare=False)

    async def submit_partitioned(self, count: int) -> float:
        started = time.perf_counter()
        await self._connection.execute(SUBMIT_PARTITIONED, [count, count])
        return count / (time.perf_counter() - started)

    async def run_until_empty(self) -> int:
        done = 0
        cursor = self._connection.cursor(binary=True)
        while True:
            await cursor.execute(CLAIM)
            claimed = await cursor.fetchall()
            if not claimed:
                return done
            jobs, parts, tokens, inputs = zip(*claimed, strict=True)
            for text in inputs:
                json.loads(text)
            await cursor.execute(COMPLETE, [list(jobs), list(parts), list(tokens)])
            done += cursor.rowcount


system: type[PartitionedSystem] = Ceiling
