from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from reelstate.artifacts import keys
from reelstate.artifacts.storage import Storage
from reelstate.artifacts.stored import Listed
from reelstate.artifacts.sweep import (
    Version,
    abandoned,
    expired,
    sweep_job,
    sweep_sources,
    sweep_versions,
    unneeded,
)

NOW = datetime(2026, 3, 1, tzinfo=UTC)
WEEK = timedelta(days=7)


def test_files_of_a_lower_token_are_abandoned_and_of_a_higher_token_kept() -> None:
    found = [keys.made(1, "encode", 0, token, "x") for token in (1, 2, 3)]
    assert [run.token for run in abandoned(found, {("encode", 0): 2})] == [1]


def test_all_files_of_a_missing_task_are_abandoned() -> None:
    found = [keys.made(1, "encode", 0, 1, "x"), keys.made(1, "encode", 5, 1, "x"), "versions/1/stray"]
    assert [run.part for run in abandoned(found, {("encode", 0): 1})] == [5]


def test_a_version_is_removed_when_it_was_superseded_long_enough_ago() -> None:
    versions = [Version(1, NOW - WEEK), Version(2, NOW - WEEK + timedelta(seconds=1)), Version(3, None)]
    assert expired(versions, now=NOW, keep=WEEK) == (1,)


def test_a_version_is_kept_while_a_kept_version_refers_to_it() -> None:
    long_ago = NOW - 2 * WEEK
    versions = [
        Version(1, long_ago),
        Version(2, long_ago, frozenset({1})),
        Version(3, None, frozenset({2})),
        Version(4, long_ago),
        Version(5, long_ago, frozenset({4})),
    ]
    assert expired(versions, now=NOW, keep=WEEK) == (4, 5)


def test_an_old_source_that_no_job_needs_is_removed() -> None:
    old, new = NOW - timedelta(days=2), NOW - timedelta(hours=1)
    found = [Listed("sources/a", 1, old), Listed("sources/b", 1, old), Listed("sources/c", 1, new)]
    assert unneeded(found, frozenset({"b"}), now=NOW) == ("sources/a",)


async def test_only_the_files_of_abandoned_runs_are_deleted(storage: Storage) -> None:
    for token in (1, 2):
        await storage.put_bytes(keys.made(1, "encode", 0, token, "x"), b"data")
    await storage.put_bytes(keys.made(2, "encode", 0, 1, "x"), b"data")

    async def tokens() -> Mapping[tuple[str, int], int]:
        return {("encode", 0): 2}

    assert [run.token for run in await sweep_job(storage, 1, tokens)] == [1]
    assert await sweep_job(storage, 1, tokens) == ()
    kept = sorted([found.key async for found in storage.list("versions")])
    assert kept == [keys.made(1, "encode", 0, 2, "x"), keys.made(2, "encode", 0, 1, "x")]


async def test_a_run_that_begins_during_the_sweep_keeps_its_files(storage: Storage) -> None:
    await storage.put_bytes(keys.made(1, "encode", 0, 1, "x"), b"data")

    async def tokens() -> Mapping[tuple[str, int], int]:
        await storage.put_bytes(keys.made(1, "encode", 0, 2, "x"), b"data")
        return {("encode", 0): 2}

    await sweep_job(storage, 1, tokens)
    assert [found.key async for found in storage.list("versions")] == [keys.made(1, "encode", 0, 2, "x")]


async def test_whole_versions_and_sources_are_deleted(storage: Storage) -> None:
    for job in (1, 2):
        await storage.put_bytes(keys.made(job, "encode", 0, 1, "x"), b"data")
    await storage.put_bytes(keys.source("a" * 64), b"data")
    assert await sweep_versions(storage, [1, 9]) == 1
    assert await storage.folders("versions") == ("2",)

    async def needed() -> frozenset[str]:
        return frozenset()

    later = datetime.now(UTC) + timedelta(days=2)
    assert await sweep_sources(storage, needed, now=later) == (keys.source("a" * 64),)
    assert not await storage.exists(keys.source("a" * 64))


async def test_a_source_that_becomes_needed_during_the_sweep_is_kept(storage: Storage) -> None:
    first, second = "a" * 64, "b" * 64
    for sha256 in (first, second):
        await storage.put_bytes(keys.source(sha256), b"data")

    async def needed() -> frozenset[str]:
        return frozenset() if await storage.exists(keys.source(first)) else frozenset({second})

    later = datetime.now(UTC) + timedelta(days=2)
    assert await sweep_sources(storage, needed, now=later) == (keys.source(first),)
    assert await storage.exists(keys.source(second))
