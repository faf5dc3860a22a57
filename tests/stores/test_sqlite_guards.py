"""What manual SQL at the sqlite3 prompt can do to a database. Every pair of states is tried."""

import sqlite3
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from reelstate.core.machine import JOB, MACHINES, TASK, WORKER, Actor, Machine
from reelstate.stores.sqlite.store import SQLiteStore

TABLES = {"job": "jobs", "task": "tasks", "worker": "workers"}
KEYS = {"job": "id = 1", "task": "job_id = 1", "worker": "id = 1"}
PAIRS = [(machine, *pair) for machine in MACHINES.values() for pair in permutations(machine.states, 2)]
PAIR_NAMES = [f"{machine.entity}-{origin}-{target}" for machine, origin, target in PAIRS]


@pytest.fixture
async def database(tmp_path: Path) -> str:
    store = SQLiteStore(tmp_path / "jobs.db")
    await store.migrate()
    await store.close()
    return str(tmp_path / "jobs.db")


@pytest.fixture
def shell(database: str) -> Iterator[sqlite3.Connection]:
    """A connection as of the sqlite3 prompt; one job with one task, and one worker."""
    connection = sqlite3.connect(database, isolation_level=None)
    connection.execute("INSERT INTO jobs (id, pipeline_id) VALUES (1, 1)")
    connection.execute("INSERT INTO stages (job_id, stage, total, opened_at) VALUES (1, 0, 1, 1.0)")
    connection.execute("INSERT INTO tasks (job_id, stage, part, lane) VALUES (1, 0, 0, 1)")
    connection.execute("INSERT INTO workers (id, name, hostname, software) VALUES (1, 'w', 'h', 's')")
    yield connection
    connection.close()


def fields(entity: str, status: str) -> str:
    """Return the columns that a row must have in a state."""
    if entity == "task":
        held = ("7", "9.0") if status == "running" else ("NULL", "NULL")
        ended = "9.0" if status in {"done", "skipped", "cancelled", "error"} else "NULL"
        return f"worker_id = {held[0]}, lease_expires_at = {held[1]}, finished_at = {ended}, ready_at = 1.0"
    if entity == "job":
        ended = "9.0" if status in {"completed", "failed", "quarantined", "cancelled"} else "NULL"
        return f"finished_at = {ended}"
    return "reason = reason"


def put(shell: sqlite3.Connection, entity: str, status: str) -> None:
    """Set the state of a row, bypassing the guards."""
    shell.execute("INSERT INTO repairing VALUES (1.0)")
    shell.execute(f"UPDATE {TABLES[entity]} SET status = '{status}', {fields(entity, status)} WHERE {KEYS[entity]}")
    shell.execute("DELETE FROM repairing")


def change(shell: sqlite3.Connection, entity: str, status: str, more: str = "") -> None:
    words = f"status = '{status}', {fields(entity, status)}{more}"
    shell.execute(f"UPDATE {TABLES[entity]} SET {words} WHERE {KEYS[entity]}")


def row(shell: sqlite3.Connection, entity: str) -> tuple[Any, ...]:
    query = f"SELECT status, version, actor FROM {TABLES[entity]} WHERE {KEYS[entity]}"
    found: tuple[Any, ...] = shell.execute(query).fetchone()
    return found


def last_event(shell: sqlite3.Connection, entity: str) -> tuple[Any, ...]:
    query = "SELECT origin, target, version, actor FROM events WHERE entity = ? ORDER BY id DESC LIMIT 1"
    found: tuple[Any, ...] = shell.execute(query, [entity]).fetchone()
    return found


def refused(machine: Machine, origin: str, target: str) -> str:
    return f"^reelstate: {machine.entity}: {origin} -> {target} is (only|not) allowed"


@pytest.mark.parametrize("machine, origin, target", PAIRS, ids=PAIR_NAMES)
def test_manual_sql_is_audited_if_legal_and_else_refused(
    shell: sqlite3.Connection, machine: Machine, origin: str, target: str
) -> None:
    entity = machine.entity
    put(shell, entity, origin)
    if machine.who_may(origin, target):
        change(shell, entity, target)
        assert row(shell, entity) == (target, 2, "sql")
        assert last_event(shell, entity) == (origin, target, 2, "sql")
    else:
        with pytest.raises(sqlite3.IntegrityError, match=refused(machine, origin, target)):
            change(shell, entity, target)
        assert row(shell, entity)[:2] == (origin, 1)


@pytest.mark.parametrize("machine, origin, target", PAIRS, ids=PAIR_NAMES)
def test_changes_of_the_engine_are_open_to_their_actors_only(
    shell: sqlite3.Connection, machine: Machine, origin: str, target: str
) -> None:
    entity = machine.entity
    put(shell, entity, origin)
    for actor in Actor:
        shell.execute("SAVEPOINT before")
        more = f", version = version + 1, actor = '{actor}:ada'"
        if machine.allows(origin, target, actor):
            change(shell, entity, target, more)
            assert last_event(shell, entity) == (origin, target, 2, f"{actor}:ada")
        else:
            with pytest.raises(sqlite3.IntegrityError, match=refused(machine, origin, target)):
                change(shell, entity, target, more)
        shell.execute("ROLLBACK TO before")


@pytest.mark.parametrize("recursive", ["off", "on"])
def test_a_manual_change_has_one_event_whatever_the_trigger_settings(shell: sqlite3.Connection, recursive: str) -> None:
    shell.execute(f"PRAGMA recursive_triggers = {recursive}")
    change(shell, "job", "processing")
    events = shell.execute("SELECT version, origin, target, actor FROM events WHERE entity = 'job'").fetchall()
    assert events == [(1, None, "pending", "sql"), (2, "pending", "processing", "sql")]


def test_an_update_without_a_transition_writes_no_event(shell: sqlite3.Connection) -> None:
    before = shell.execute("SELECT count(*) FROM events").fetchone()
    change(shell, "job", "pending")
    shell.execute("UPDATE tasks SET percent = 5, message = 'half way'")
    assert shell.execute("SELECT count(*) FROM events").fetchone() == before


def test_an_edit_that_raises_the_version_has_an_event(shell: sqlite3.Connection) -> None:
    shell.execute("UPDATE jobs SET priority = 9, version = version + 1, actor = 'operator:ada'")
    assert last_event(shell, "job") == ("pending", "pending", 2, "operator:ada")
    shell.execute("UPDATE jobs SET priority = 8, version = version + 1, actor = 'sql'")
    assert last_event(shell, "job") == ("pending", "pending", 3, "sql")


def test_inserts_and_openings_have_events(shell: sqlite3.Connection) -> None:
    events = shell.execute("SELECT entity, target, version, data FROM events ORDER BY id").fetchall()
    assert events == [
        ("job", "pending", 1, None),
        ("stage", "opened", 1, '{"total":1}'),
        ("worker", "active", 1, None),
    ]
    shell.execute("UPDATE stages SET open = 0")
    shell.execute("UPDATE stages SET open = 1, version = 2")
    assert last_event(shell, "stage") == ("waiting", "opened", 2, "orchestrator")


INVALID_INSERTS = [
    "INSERT INTO jobs (id, pipeline_id, status) VALUES (2, 1, 'processing')",
    "INSERT INTO jobs (id, pipeline_id, version) VALUES (2, 1, 2)",
    "INSERT INTO workers (id, name, hostname, software, status) VALUES (2, 'w', 'h', 's', 'offline')",
    "INSERT INTO tasks (job_id, stage, part, lane, status, finished_at) VALUES (1, 0, 1, 1, 'done', 1.0)",
    "INSERT INTO tasks (job_id, stage, part, lane, version) VALUES (1, 0, 1, 1, 2)",
]
BACKWARDS = [
    "UPDATE jobs SET version = 2",
    "UPDATE jobs SET version = 5",
    "UPDATE jobs SET status = 'processing', version = 5",
    "UPDATE tasks SET version = 2",
    "UPDATE tasks SET token = 4",
    "UPDATE tasks SET attempt = 0",
    "UPDATE workers SET version = 2",
]
IMMUTABLE = [
    "UPDATE jobs SET id = 2",
    "UPDATE tasks SET part = 3",
    "UPDATE tasks SET job_id = 2",
    "UPDATE workers SET id = 2",
    "DELETE FROM jobs",
    "DELETE FROM stages",
    "DELETE FROM tasks",
    "REPLACE INTO jobs (id, pipeline_id) VALUES (1, 2)",
    "REPLACE INTO tasks (job_id, stage, part, lane) VALUES (1, 0, 0, 1)",
    "REPLACE INTO workers (id, name, hostname, software) VALUES (1, 'w', 'h', 's')",
    "UPDATE events SET actor = 'nobody'",
    "DELETE FROM events",
    "REPLACE INTO events (id, entity, version, target, actor) VALUES (1, 'job', 9, 'failed', 'nobody')",
    "REPLACE INTO events (entity, job_id, version, target, actor) VALUES ('job', 1, 1, 'failed', 'nobody')",
    "REPLACE INTO events (entity, worker_id, version, target, actor) VALUES ('worker', 1, 1, 'offline', 'x')",
]


@pytest.mark.parametrize("statement", [*INVALID_INSERTS, *BACKWARDS, *IMMUTABLE])
def test_changes_that_falsify_the_event_log_are_refused(shell: sqlite3.Connection, statement: str) -> None:
    change(shell, "task", "ready")
    shell.execute("INSERT INTO repairing VALUES (1.0)")
    shell.execute("UPDATE jobs SET version = 3")
    shell.execute("UPDATE workers SET version = 3")
    shell.execute("UPDATE tasks SET version = 3, token = 5, attempt = 2")
    shell.execute("DELETE FROM repairing")
    before = list(shell.iterdump())
    with pytest.raises(sqlite3.IntegrityError, match=r"^reelstate: "):
        shell.execute(statement)
    assert list(shell.iterdump()) == before


def test_only_archive_may_delete(shell: sqlite3.Connection) -> None:
    shell.execute("BEGIN IMMEDIATE")
    shell.execute("INSERT INTO archiving VALUES (1.0)")
    shell.execute("DELETE FROM events")
    shell.execute("DELETE FROM tasks")
    shell.execute("DELETE FROM archiving")
    shell.execute("COMMIT")
    with pytest.raises(sqlite3.IntegrityError, match=r"^reelstate: jobs are not deleted"):
        shell.execute("DELETE FROM jobs")


def test_event_ids_are_not_reused_after_an_archive(shell: sqlite3.Connection) -> None:
    (highest,) = shell.execute("SELECT max(id) FROM events").fetchone()
    shell.execute("INSERT INTO archiving VALUES (1.0)")
    shell.execute("DELETE FROM events")
    shell.execute("DELETE FROM archiving")
    change(shell, "job", "processing")
    assert shell.execute("SELECT min(id) FROM events").fetchone() == (highest + 1,)


def test_every_machine_is_guarded() -> None:
    assert [machine.entity for machine in (JOB, TASK, WORKER)] == list(TABLES)
