"""Statements that write their events themselves: their changes are checked, and the setting ends with the statement."""

from collections.abc import Iterator

import psycopg
import pytest

RECORD = "SELECT set_config('reelstate.recorded', 'on', true)"


@pytest.fixture
def connection(postgres_database: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(postgres_database) as opened:
        opened.execute("INSERT INTO reelstate.jobs (id, pipeline_id, actor) VALUES (1, 1, 'user')")
        yield opened


def move(status: str, actor: str, finished: str = "NULL") -> str:
    return (
        f"UPDATE reelstate.jobs SET status = '{status}', version = version + 1, actor = '{actor}',"
        f" finished_at = {finished} WHERE id = 1"
    )


def targets(connection: psycopg.Connection) -> list[str]:
    rows = connection.execute("SELECT target FROM reelstate.events WHERE job_id = 1 ORDER BY version").fetchall()
    return [row[0] for row in rows]


def test_the_setting_ends_with_the_statement(connection: psycopg.Connection) -> None:
    connection.execute(RECORD)
    connection.execute(move("processing", "worker"))
    connection.execute(move("completed", "orchestrator", "now()"))
    assert targets(connection) == ["pending", "completed"]


@pytest.mark.parametrize(
    "statement",
    [
        move("processing", "user"),
        move("completed", "worker", "now()"),
        move("processing", "worker").replace("version + 1", "version + 2"),
        move("processing", "worker").replace(" WHERE", ", id = 2 WHERE"),
    ],
)
def test_an_illegal_change_is_refused_while_it_is_on(connection: psycopg.Connection, statement: str) -> None:
    connection.execute(RECORD)
    with pytest.raises(psycopg.Error) as refused:
        connection.execute(statement)
    assert refused.value.sqlstate == "RS001"


def test_a_legal_change_of_another_statement_has_its_event_while_it_is_on(connection: psycopg.Connection) -> None:
    connection.execute(RECORD)
    connection.execute(move("cancelled", "user", "now()"))
    assert targets(connection) == ["pending", "cancelled"]
