"""The plan of a claim: it reads the index in order, sorts no ready tasks, and reads few pages."""

import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
import pytest

from reelstate.engine import Engine
from reelstate.stores.postgres.store import PostgresTransaction
from reelstate.stores.store import Batch, Row, Statement
from tests.engines import a_worker, engine_at
from tests.postgres import PostgresServer

LIMIT = 100
MAX_PAGES = 300

SEED = """
    ALTER TABLE reelstate.tasks DISABLE TRIGGER USER;
    INSERT INTO reelstate.tasks (job_id, stage, part, lane, priority, status, token, attempt, version, ready_at,
                                 finished_at, percent, actor)
    SELECT job_id, 0, part + {first}, lane, priority, '{status}', 1, 1, 3, clock_timestamp(),
           CASE WHEN '{status}' = 'done' THEN clock_timestamp() END, 0, 'worker'
    FROM (SELECT job_id, lane, priority FROM reelstate.tasks WHERE part = 0 ORDER BY job_id LIMIT 1) AS one,
         generate_series(0, {count} - 1) AS part;
    ALTER TABLE reelstate.tasks ENABLE TRIGGER USER;
"""


@pytest.fixture
def url(postgres_server: PostgresServer, migrated_template: str) -> Iterator[str]:
    made = postgres_server.new_database(migrated_template)
    yield made
    postgres_server.drop_database(made)


@asynccontextmanager
async def seeded(url: str, *, finished: int, ready: int) -> AsyncIterator[tuple[Engine, int]]:
    """Open an engine on a table of tasks, half of the finished ones older than the ready ones, with a worker."""
    async with engine_at(url) as engine:
        await engine.submit("parts", {"parts": 1})
        async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
            rows = [("done", 1, finished // 2), ("ready", finished, ready), ("done", 10 * finished, finished // 2)]
            for status, first, count in rows:
                await connection.execute(SEED.format(status=status, first=first, count=count).encode())
            await connection.execute("ANALYZE reelstate.tasks")
        yield engine, await a_worker(engine)


class Explained(Exception):
    """Carries the plan out of the claim, and rolls it back."""


async def explain_claim(engine: Engine, worker: int, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return the plan of the statement that a claim runs, as it ran."""

    async def explain(
        transaction: PostgresTransaction, statement: Statement[Row], batch: Batch | None = None, /, **parameters: Any
    ) -> None:
        ((plan,),) = await (await transaction._execute(statement.name, batch, parameters)).fetchall()
        raise Explained(plan[0])

    statements: dict[str, str] = engine.store._statements  # type: ignore[attr-defined]
    monkeypatch.setitem(statements, "claim", f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statements['claim']}")
    monkeypatch.setattr(PostgresTransaction, "run", explain)
    with pytest.raises(Explained) as plan:
        await engine.claim(worker, LIMIT)
    monkeypatch.undo()
    explanation: dict[str, Any] = plan.value.args[0]
    return explanation


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", []):
        yield from nodes(child)


def check(explanation: dict[str, Any]) -> None:
    plan = explanation["Plan"]
    text = json.dumps(plan)
    everything = list(nodes(plan))
    assert plan["Actual Rows"] == LIMIT
    assert "tasks_ready" in {node.get("Index Name") for node in everything}
    assert not re.search(r'"Node Type": "Seq Scan"[^}]*"Relation Name": "tasks"', text), "reads the whole table"
    for node in everything:
        if node["Node Type"] in {"Sort", "Incremental Sort"}:
            inputs = sum(child["Actual Rows"] * child["Actual Loops"] for child in node.get("Plans", []))
            assert inputs <= 3 * LIMIT, f"sorts {inputs} rows"
    (reading,) = (node for node in everything if node.get("Subplan Name") == "CTE first")
    assert pages(reading) <= MAX_PAGES, f"{pages(reading)} pages to find and lock {LIMIT} tasks"
    assert pages(plan) <= MAX_PAGES + 10 * LIMIT, f"{pages(plan)} pages with those that are written"


def pages(node: dict[str, Any]) -> int:
    return int(node["Shared Hit Blocks"] + node["Shared Read Blocks"])


async def test_a_claim_reads_only_what_it_leases(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with seeded(url, finished=20_000, ready=5000) as (engine, worker):
        check(await explain_claim(engine, worker, monkeypatch))


@pytest.mark.prove
async def test_a_claim_reads_only_what_it_leases_out_of_a_million(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with seeded(url, finished=1_000_000, ready=100_000) as (engine, worker):
        check(await explain_claim(engine, worker, monkeypatch))
