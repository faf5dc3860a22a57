"""The bare minimum: hand-written SQL over the smallest tables that could keep the promises at all.

Batches of 500 are claimed with SKIP LOCKED and completed by arrays of (task, token), one statement
each. Nothing is left out that a promise needs (checked transitions, events, leases, tokens, stage
counters); everything else is.
"""

import time
from pathlib import Path

from psycopg import AsyncConnection

from bench.engine.hand_written import HandWritten, payloads
from bench.engine.stopwatch import batches
from bench.engine.system import BATCH, PartitionedSystem

SCHEMA = Path(__file__).with_suffix(".sql")

SUBMIT_SIMPLE = """
WITH new_jobs AS (
    INSERT INTO jobs (spec) SELECT unnest(%b::text[]) RETURNING id
), new_stages AS (
    INSERT INTO stages (job_id, total) SELECT id, 1 FROM new_jobs RETURNING id, job_id
)
INSERT INTO tasks (job_id, stage_id, part) SELECT job_id, id, 0 FROM new_stages
"""

SUBMIT_JOB = """
WITH new_job AS (INSERT INTO jobs (spec) VALUES (NULL) RETURNING id)
INSERT INTO stages (job_id, total) SELECT id, %b::integer FROM new_job RETURNING job_id, id
"""

SUBMIT_PARTS = """
INSERT INTO tasks (job_id, stage_id, part, input)
SELECT %b::bigint, %b::bigint, parts.number - 1 + %b::integer, parts.input
FROM unnest(%b::text[]) WITH ORDINALITY AS parts (input, number)
"""

CLAIM = """
WITH picked AS MATERIALIZED (
    SELECT ctid FROM tasks WHERE status = 'ready' ORDER BY priority DESC, id LIMIT 500
    FOR UPDATE SKIP LOCKED
), claimed AS (
    UPDATE tasks SET
        status = 'running', actor = 'worker', version = version + 1, token = token + 1,
        attempt = attempt + 1, worker = pg_backend_pid(),
        lease_expires_at = clock_timestamp() + interval '60 seconds'
    WHERE ctid = ANY (ARRAY(SELECT ctid FROM picked))
    RETURNING id, job_id, token, input
), begun AS (
    UPDATE jobs SET status = 'processing', actor = 'worker', version = version + 1
    WHERE id IN (SELECT job_id FROM claimed) AND status = 'pending'
)
SELECT id, token, coalesce(input, (SELECT spec FROM jobs WHERE jobs.id = job_id)) FROM claimed
"""

COMPLETE = """
WITH finished AS (
    UPDATE tasks SET
        status = 'done', actor = 'worker', version = version + 1, worker = NULL,
        lease_expires_at = NULL, finished_at = clock_timestamp()
    FROM unnest(%b::bigint[], %b::bigint[]) AS report (id, token)
    WHERE tasks.id = report.id AND tasks.token = report.token AND status = 'running'
    RETURNING tasks.id, stage_id
), counted AS (
    UPDATE stages SET done = done + more
    FROM (SELECT stage_id, count(*) AS more FROM finished GROUP BY stage_id) AS counts
    WHERE stages.id = stage_id
    RETURNING job_id, done = total AS complete
), closed AS (
    UPDATE jobs SET
        status = 'completed', actor = 'orchestrator', version = version + 1,
        finished_at = clock_timestamp()
    FROM counted WHERE complete AND jobs.id = job_id
)
SELECT id FROM finished
"""

PINNED_PLANS = " ".join(
    f"-c {setting}"
    for setting in (
        "enable_seqscan=off",
        "enable_bitmapscan=off",
        "enable_sort=off",
        "plan_cache_mode=force_generic_plan",
        "jit=off",
    )
)
"""The tables grow and shrink faster than their statistics, so every hot lookup is forced to use an index."""


class Bare(HandWritten):
    """One connection."""

    settings = "hand-written SQL, psycopg, uvloop, submit by unnest of 1,000, claim and complete by 500"
    submit = SUBMIT_SIMPLE

    async def prepare(self, url: str) -> None:
        self._connection = await AsyncConnection.connect(
            url, autocommit=True, prepare_threshold=0, options=PINNED_PLANS
        )
        await self._connection.execute(SCHEMA.read_text(), prepare=False)

    async def submit_partitioned(self, count: int) -> float:
        started = time.perf_counter()
        async with self._connection.transaction():
            cursor = await self._connection.execute(SUBMIT_JOB, [count])
            (job, stage) = (await cursor.fetchall())[0][:2]
            for numbers in batches(count, BATCH):
                await self._connection.execute(SUBMIT_PARTS, [job, stage, numbers.start, payloads(numbers)])
        return count / (time.perf_counter() - started)

    async def run_until_empty(self) -> int:
        done = 0
        cursor = self._connection.cursor(binary=True)
        while True:
            await cursor.execute(CLAIM)
            claimed = await cursor.fetchall()
            if not claimed:
                return done
            await cursor.execute(COMPLETE, [[task for task, _, _ in claimed], [token for _, token, _ in claimed]])
            done += cursor.rowcount


system: type[PartitionedSystem] = Bare
