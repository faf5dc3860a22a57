"""The ceiling: hand-written SQL on one psycopg connection, over the engine's own tables with all their guards on.

It writes the same rows as the engine does (job, stage, task, an event for every transition), checked
by the same triggers and constraints, with one statement a batch: submit by 1,000, claim and complete
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

SUBMIT_SIMPLE = """
WITH given AS MATERIALIZED (SELECT reelstate.new_id() AS id, spec FROM unnest(%b::text[]) AS spec),
created AS (
    INSERT INTO reelstate.jobs (id, pipeline_id, actor, spec) SELECT id, 1, 'user', spec::jsonb FROM given
), opened AS (
    INSERT INTO reelstate.stages (job_id, stage, total, sole, opened_at)
    SELECT id, 0, 1, true, clock_timestamp() FROM given
)
INSERT INTO reelstate.tasks (job_id, stage, part, lane, status, ready_at, actor)
SELECT id, 0, 0, 1, 'ready', clock_timestamp(), 'orchestrator' FROM given
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

CLAIM = """
WITH picked AS MATERIALIZED (
    SELECT ctid AS tid FROM reelstate.tasks WHERE lane = 1 AND status = 'ready'
    ORDER BY priority DESC, job_id, stage, part LIMIT 500
    FOR UPDATE SKIP LOCKED
), claimed AS (
    UPDATE reelstate.tasks t
    SET status = 'running', actor = 'worker', version = version + 1, token = token + 1, attempt = attempt + 1,
        worker_id = 1, last_worker = 1, claimed_at = clock_timestamp(), progress_at = clock_timestamp(),
        lease_expires_at = clock_timestamp() + interval '60 seconds', changed_at = clock_timestamp()
    WHERE ctid = ANY (ARRAY(SELECT tid FROM picked))
    RETURNING job_id, stage, part, token, input
), begun AS (
    UPDATE reelstate.jobs
    SET status = 'processing', actor = 'worker', version = version + 1, started_at = clock_timestamp(),
        changed_at = clock_timestamp()
    WHERE id = ANY (ARRAY(SELECT DISTINCT job_id FROM claimed)) AND status = 'pending'
)
SELECT job_id, part, token, coalesce(input, (SELECT spec FROM reelstate.jobs WHERE id = job_id))::text FROM claimed
"""

COMPLETE = """
WITH finished AS (
    UPDATE reelstate.tasks t
    SET status = 'done', actor = 'worker', version = version + 1, worker_id = NULL, lease_expires_at = NULL,
        percent = 100, finished_at = clock_timestamp(), changed_at = clock_timestamp()
    FROM unnest(%b::bigint[], %b::integer[], %b::bigint[]) AS given (job_id, part, token)
    WHERE t.job_id = given.job_id AND t.stage = 0 AND t.part = given.part
      AND t.token = given.token AND t.status = 'running'
    RETURNING t.job_id
), counted AS (
    UPDATE reelstate.stages s SET done = done + ended
    FROM (SELECT job_id, count(*) AS ended FROM finished GROUP BY job_id) AS batch
    WHERE s.job_id = batch.job_id AND s.stage = 0
    RETURNING s.job_id, done = total AS closed
), completed AS (
    UPDATE reelstate.jobs j
    SET status = 'completed', actor = 'orchestrator', version = version + 1, finished_at = clock_timestamp(),
        changed_at = clock_timestamp()
    FROM counted WHERE closed AND j.id = counted.job_id
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
