"""A month is exported to the storage before it is deleted, and reads back equal. Purge leaves nothing of a user."""

import gzip
import hashlib
import json
from pathlib import Path

import psycopg
import pytest

from reelstate.app import keeper_for
from reelstate.artifacts.storage import open_storage
from reelstate.config import Settings
from reelstate.core.errors import InvalidRequest, NotFound
from reelstate.core.month import Month
from reelstate.library.purge import purge
from reelstate.library.receiver import upload_receiver
from reelstate.services.export import export_month, exported_months, read_export
from reelstate.stores.archive import TABLES
from tests.archive.finished_jobs import DAY, archive_engine, complete_jobs, every_row
from tests.engines import a_worker, done
from tests.manual_sql import ManualSql

MARK = "marker-of-ada-7f3e"


async def test_an_exported_month_reads_back_equal(database_url: str, tmp_path: Path) -> None:
    storage = open_storage(str(tmp_path / "media"))
    async with archive_engine(database_url) as (engine, clock):
        jobs = await complete_jobs(engine, 4)
        month = Month.of_id(jobs[0])
        assert month is not None
        clock.advance(31 * DAY)
        await engine.archive()
        rows = {
            table: [row async for batch in engine.store.archive.rows(month, table) for row in batch] for table in TABLES
        }
        clock.advance(400 * DAY)
        assert str(month) in await engine.drop_months(older=365 * DAY, storage=storage)
        assert await exported_months(storage) == [str(month)]
        for table in TABLES:
            assert [row async for row in read_export(storage, str(month), table)] == rows[table]
            assert rows[table]
        with pytest.raises(NotFound):
            _ = [row async for row in read_export(storage, "2025-01")]
        with pytest.raises(InvalidRequest):
            _ = [row async for row in read_export(storage, str(month), "keys")]


async def test_the_keeper_archives_exports_and_deletes_by_its_settings(database_url: str, tmp_path: Path) -> None:
    settings = Settings(
        storage_url=str(tmp_path / "media"), retention=60 * DAY, archive_export="on", keep_logs=DAY, keep_steps=DAY
    )
    async with archive_engine(database_url) as (engine, clock):
        (duty,) = [duty for duty in keeper_for(engine, settings, library=False).duties if duty.name == "archive"]
        jobs = await complete_jobs(engine, 2)
        await engine.submit("simple", idempotency_key="k")
        clock.advance(2 * DAY)
        await duty.run()
        assert (await engine.logs(jobs[0])).items == []
        assert (await engine.steps(jobs[0])).items == []
        assert not (await engine.job(jobs[0])).job.archived
        clock.advance(29 * DAY)
        await duty.run()
        assert (await engine.job(jobs[0])).job.archived
        assert (await engine.submit("simple", idempotency_key="k")).verdict == "ok", "the key was forgotten"
        clock.advance(61 * DAY)
        await duty.run()
        with pytest.raises(NotFound):
            await engine.job(jobs[0])
        assert await exported_months(open_storage(settings.storage_url)) == [str(Month.of_id(jobs[0]))]
        assert (await engine.doctor()).healthy


def occurrences(url: str, folder: Path) -> list[str]:
    """Where the marker is: tables of the database, and files."""
    found = [f"{table}: {row}" for table, rows in every_row(url).items() for row in rows if MARK in row]
    if url.startswith("postgres"):
        found += postgres_tables_with(url)
    for file in folder.rglob("*"):
        if file.is_file():
            data = file.read_bytes()
            data = gzip.decompress(data) if file.suffix == ".gz" else data
            found += [str(file)] if MARK.encode() in data else []
    return found


def postgres_tables_with(url: str) -> list[str]:
    with psycopg.connect(url) as connection:
        names = connection.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = 'reelstate'::regnamespace AND relkind = 'r'"
        ).fetchall()
        tables = [name for (name,) in names]
        return [
            table
            for table in tables
            if connection.execute(f"SELECT 1 FROM reelstate.{table} t WHERE t::text LIKE %s", [f"%{MARK}%"]).fetchall()
        ]


def overwrite_result(url: str, job_id: int, source: str) -> None:
    """Let the task of a job have fetched a source."""
    ManualSql(url).run("UPDATE tasks SET result = ? WHERE job_id = ?", json.dumps({"source": source}), job_id)


async def test_purge_leaves_nothing_of_a_user_and_all_of_the_others(database_url: str, tmp_path: Path) -> None:
    media = tmp_path / "media"
    settings = Settings(storage_url=str(media), database_url=database_url)
    storage = open_storage(str(media))
    async with archive_engine(database_url) as (engine, clock):
        receiver = upload_receiver(engine.store, settings)
        old = await complete_jobs(engine, 3, user=MARK, mark=MARK)
        other = await complete_jobs(engine, 2, user="eve", mark="eve")
        month = Month.of_id(old[0])
        clock.advance(31 * DAY)
        await engine.archive()
        assert month is not None
        await export_month(engine.store, storage, month)
        await engine.webhooks.add(f"https://example.com/{MARK}", user_id=MARK)
        await engine.webhooks.add("https://example.com/all")
        new = await complete_jobs(engine, 2, user=MARK, mark=MARK)
        running = (await engine.submit("simple", {"mark": MARK}, user_id=MARK, idempotency_key=MARK)).job_id
        worker = await a_worker(engine)
        (task,) = (await engine.claim(worker, 1)).tasks
        await receiver.create(user_id=MARK, length=10, name=f"{MARK}.mp4")
        for job_id in (old[0], new[0]):
            await storage.put_bytes(f"versions/{job_id}/main/0/1/x.bin", MARK.encode())
        source = hashlib.sha256(MARK.encode()).hexdigest()
        await storage.put_bytes(f"sources/{source}", MARK.encode())
        overwrite_result(database_url, new[0], source)
        assert len(occurrences(database_url, tmp_path)) > 5

        counted = await purge(engine, storage, receiver, MARK, dry_run=True)
        assert counted.rows["jobs"] == 6
        assert (await engine.job(running)).job.id == running
        purged = await purge(engine, storage, receiver, MARK, actor="operator:me", reason="request 7")

        assert purged.rows["jobs"] == 6
        assert (purged.rows["webhooks"], purged.rows["deliveries"] > 4) == (1, True)
        for job_id in (*old, *new, running):
            with pytest.raises(NotFound):
                await engine.job(job_id)
        assert await engine.complete([done(task)]) == ["unknown"]
        assert [job.id for job in (await engine.jobs(archived=True)).items] == other[::-1]
        exported = [row["id"] async for row in read_export(storage, str(month))]
        assert sorted(exported) == sorted(other)
        events = [event for event in (await engine.events(limit=1000)).items if event.target == "purged"]
        assert [(event.actor, event.reason) for event in events] == [("operator:me", "request 7")]
        assert MARK not in json.dumps(events[0].data)
        assert (await purge(engine, storage, receiver, MARK, dry_run=True)).rows["jobs"] == 0
        assert (await engine.doctor()).healthy
    assert occurrences(database_url, tmp_path) == []


async def test_purge_needs_a_user(database_url: str, tmp_path: Path) -> None:
    settings = Settings(storage_url=str(tmp_path / "media"))
    async with archive_engine(database_url) as (engine, _):
        with pytest.raises(InvalidRequest):
            await purge(engine, open_storage(settings.storage_url), upload_receiver(engine.store, settings), "")
