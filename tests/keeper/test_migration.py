"""A SQLite file with events and missing guards that is opened: events keep their numbers, guards are restored."""

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
LAST_NUMBER = 40


@pytest.fixture
def old_file(tmp_path: Path) -> Path:
    """A file whose events were numbered up to 40, some of them deleted since."""
    path = tmp_path / "old.db"
    file = sqlite3.connect(path)
    file.execute("CREATE TABLE migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at REAL)")
    for migration in migrate.migrations(PACKAGE):
        file.executescript(migration.script)
        file.execute("INSERT INTO migrations VALUES (?, ?, 0)", [migration.number, migration.name])
    file.executemany(
        "INSERT INTO events (id, entity, job_id, version, target, actor) VALUES (?, ?, ?, ?, ?, 'user')", EVENTS
    )
    file.execute("UPDATE sqlite_sequence SET seq = ? WHERE name = 'events'", [LAST_NUMBER])
    for trigger in guards.triggers().values():
        with contextlib.suppress(sqlite3.OperationalError):  # of a table that does not exist here
            file.execute(trigger)
    file.execute("INSERT INTO facts VALUES ('guards', ?)", [guard.digest(guards.script())])
    file.commit()
    file.close()
    return path


async def test_events_keep_their_numbers_and_none_is_reused(old_file: Path) -> None:
    async with open_engine(f"sqlite:///{old_file}", pipelines=[SIMPLE]) as engine:
        await engine.submit("simple")
        numbers = [int(event.cursor.rpartition(".")[2]) for event in (await engine.events()).items]
        kept = [(event.entity, event.job_id, event.version, event.target) for event in (await engine.events()).items]
    assert numbers[:2] == [3, 9]
    assert numbers[2] == LAST_NUMBER + 1
    assert kept[:2] == [event[1:] for event in EVENTS]


async def test_guards_are_restored(old_file: Path) -> None:
    async with open_engine(f"sqlite:///{old_file}") as engine:
        assert await engine.store.missing_guards() == []
    file = sqlite3.connect(old_file)
    with pytest.raises(sqlite3.IntegrityError, match="never deleted"):
        file.execute("DELETE FROM events")
    file.close()
