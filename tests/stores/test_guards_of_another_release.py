"""A database whose guards are of another release: migrating installs those of this one, and changes no row."""

import pytest

from reelstate.app import store_at
from reelstate.core.machine import JobStatus
from tests.engines import a_worker, engine_at
from tests.manual_sql import ManualSql

GUARDS_OF_JOBS = {
    "postgres": "SELECT tgname FROM pg_trigger WHERE tgrelid = 'jobs'::regclass AND NOT tgisinternal",
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'jobs'",
}
EVENTS = "SELECT id, entity, job_id, version, target FROM events ORDER BY id"


def remove_guards_of_jobs(database: ManualSql, dialect: str) -> list[str]:
    names = [name for (name,) in database.run(GUARDS_OF_JOBS[dialect])]
    for name in names:
        database.run(f"DROP TRIGGER {name}" + (" ON jobs" if database.postgres else ""))
    return names


async def test_migrating_replaces_the_guards_of_another_release(database_url: str, dialect: str) -> None:
    database = ManualSql(database_url)
    async with engine_at(database_url) as engine:
        job_id = (await engine.submit("simple")).job_id
        await engine.claim(await a_worker(engine))
    assert remove_guards_of_jobs(database, dialect)
    database.run("UPDATE facts SET value = 'of another release' WHERE name = 'guards'")
    events = database.run(EVENTS)
    store = store_at(database_url)
    assert await store.migrate() == ["guards"]
    await store.open()
    assert await store.missing_guards() == []
    await store.close()
    assert database.run(EVENTS) == events
    with pytest.raises(Exception, match="reelstate: "):
        database.run("UPDATE jobs SET status = ? WHERE id = ?", JobStatus.PLANNING, job_id)


async def test_guards_of_this_release_are_not_installed_again(database_url: str) -> None:
    assert await store_at(database_url).migrate() == []
