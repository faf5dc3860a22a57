"""A hot statement uses its index even with a plan that was made on empty tables and cached."""

import re
from collections.abc import Iterator

import psycopg
import pytest

from reelstate.stores.migrate import statements
from reelstate.stores.postgres.address import session_address
from tests.postgres import PostgresServer

GENERIC_PLANS_CAN_BE_SHOWN = 160000
STATEMENTS = statements("reelstate.stores.postgres")


@pytest.fixture
def connection(postgres_server: PostgresServer, migrated_template: str) -> Iterator[psycopg.Connection]:
    url = postgres_server.new_database(migrated_template)
    with psycopg.connect(session_address(url), autocommit=True) as connection:
        if connection.info.server_version < GENERIC_PLANS_CAN_BE_SHOWN:
            pytest.skip("this server can't show a generic plan")
        yield connection
    postgres_server.drop_database(url)


def generic_plan(connection: psycopg.Connection, name: str) -> str:
    """Return the generic plan of a statement."""
    numbers: dict[str, int] = {}
    text = re.sub(r"%\((\w+)\)s", lambda found: f"${numbers.setdefault(found[1], len(numbers) + 1)}", STATEMENTS[name])
    rows = connection.execute(f"EXPLAIN (GENERIC_PLAN, COSTS OFF) {text}", prepare=False).fetchall()
    return "\n".join(line for (line,) in rows)


@pytest.mark.parametrize("name", ["complete", "fail", "report"])
def test_a_task_is_found_by_its_key(connection: psycopg.Connection, name: str) -> None:
    plan = generic_plan(connection, name)
    assert "(job_id = given.job_id) AND (stage = given.stage) AND (part = given.part)" in plan
    assert "Seq Scan" not in plan
    assert "Materialize" not in plan


def test_a_stage_is_found_by_its_key(connection: psycopg.Connection) -> None:
    assert "(job_id = given.job_id) AND (stage = given.stage)" in generic_plan(connection, "complete_stages")


@pytest.mark.parametrize("name", ["claim_jobs", "complete_jobs", "orchestrate_lock"])
def test_a_job_is_found_by_its_key(connection: psycopg.Connection, name: str) -> None:
    assert "(id = ANY (" in generic_plan(connection, name)


def test_a_claim_reads_each_lane_in_the_order_of_its_index(connection: psycopg.Connection) -> None:
    plan = generic_plan(connection, "claim")
    lane = plan[plan.index("LockRows") :]
    assert "Index Scan using tasks_ready on tasks" in lane
    assert "Index Cond: (lane = mine.id)" in lane
    assert "Tid Scan on tasks t" in plan
