"""A SQLite store from before there were keepers: its record moves to a new table, whole and guarded."""

import contextlib
import sqlite3
from pathlib import Path

import pytest

from reelstate.app import open_engine
from reelstate.stores import guard, migrate
from reelstate.stores.sqlite import guards
from reelstate.stores.sqlite.store import PACKAGE
from tests.engines import SIMPLE

EVENTS = [(3, "job", 7, 1, "pending"), (9, "job", 7, 2, "cancelled")]
GIVEN_OUT = 40


@pytest.fixture
def old_file(tmp_path: Path) -> Path:
    """As the second migration left it; events up to number 40 were given out, and some are gone."""
    path = tmp_path / "old.db"
    file = sqlite3.connect(path)
    file.execute("CREATE TABLE migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at REAL)")
    for migration in migrate.migrations(PACKAGE)[:2]:
        file.executescript(migration.script)
        file.execute("INSERT INTO migrations VALUES (?, ?, 0)", [migration.number, migration.name])
    file.executemany(
        "INSERT INTO events (id, entity, job_id, version, target, actor) VALUES (?, ?, ?, ?, ?, 'user')", EVENTS
    )
    file.execute("UPDATE sqlite_sequence SET seq = ? WHERE name = 'events'", [GIVEN_OUT])
    for trigger in guards.triggers().values():
        with contextlib.suppress(sqlite3.OperationalError):  # of a table that a later migration makes
            file.execute(trigger)
    file.execute("INSERT INTO facts VALUES ('guards', ?)", [guard.digest(guards.script())])
    file.commit()
    file.close()
    return path


async def test_the_events_keep_their_numbers_and_none_is_given_again(old_file: Path) -> None:
    async with open_engine(f"sqlite:///{old_file}", pipelines=[SIMPLE]) as engine:
        await engine.submit("simple")
        numbers = [int(event.cursor.rpartition(".")[2]) for event in (await engine.events()).items]
        kept = [(event.entity, event.job_id, event.version, event.target) for event in (await engine.events()).items]
    assert numbers[:2] == [3, 9]
    assert numbers[2] == GIVEN_OUT + 1
    assert kept[:2] == [event[1:] for event in EVENTS]


async def test_the_guards_are_put_back(old_file: Path) -> None:
    async with open_engine(f"sqlite:///{old_file}") as engine:
        assert await engine.store.missing_guards() == []
    file = sqlite3.connect(old_file)
    with pytest.raises(sqlite3.IntegrityError, match="never deleted"):
        file.execute("DELETE FROM events")
    file.close()
