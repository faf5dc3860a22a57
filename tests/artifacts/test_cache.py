import asyncio
import contextlib
import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from reelstate.artifacts import keys
from reelstate.artifacts.cache import LOCK, SourceCache
from reelstate.artifacts.storage import Storage, open_storage
from reelstate.core.errors import StorageDamaged, StorageMissing

SIZE = 1000


@pytest.fixture
def bucket(bucket_url: str) -> Storage:
    return open_storage(bucket_url)


async def put(bucket: Storage, number: int) -> str:
    data = bytes([number]) * SIZE
    sha256 = hashlib.sha256(data).hexdigest()
    await bucket.put_bytes(keys.source(sha256), data)
    return sha256


def cached(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.suffix != LOCK}


def age(folder: Path, *oldest_first: str) -> None:
    """Set the times of use, one second apart."""
    for moment, sha256 in enumerate(oldest_first):
        os.utime(folder / sha256, (1_000_000 + moment, 1_000_000))


async def test_a_folder_is_its_own_cache(tmp_path: Path) -> None:
    storage = open_storage(str(tmp_path / "media"))
    sha256 = await put(storage, 1)
    async with SourceCache(storage, tmp_path / "cache", 0).held(sha256) as path:
        assert path == storage.local_path(keys.source(sha256))
    assert not (tmp_path / "cache").exists()


async def test_a_source_is_fetched_once(bucket: Storage, tmp_path: Path) -> None:
    sha256 = await put(bucket, 1)
    cache = SourceCache(bucket, tmp_path, 10 * SIZE)
    async with cache.held(sha256) as path:
        assert hashlib.sha256(path.read_bytes()).hexdigest() == sha256
        first = path.stat().st_ino
    await bucket.delete(keys.source(sha256))
    async with cache.held(sha256) as path:
        assert path.stat().st_ino == first


async def test_concurrent_users_of_one_source_share_one_file(bucket: Storage, tmp_path: Path) -> None:
    sha256 = await put(bucket, 1)
    everyone = asyncio.Barrier(5)
    files: set[int] = set()

    async def want() -> None:
        async with SourceCache(bucket, tmp_path, 10 * SIZE).held(sha256) as path:
            files.add(path.stat().st_ino)
            await everyone.wait()

    await asyncio.gather(*(want() for _ in range(5)))
    assert len(files) == 1


async def test_the_least_recently_used_source_is_evicted_first(bucket: Storage, tmp_path: Path) -> None:
    a, b, c = [await put(bucket, number) for number in range(3)]
    cache = SourceCache(bucket, tmp_path, 2 * SIZE)
    for sha256 in (a, b):
        async with cache.held(sha256):
            pass
    age(tmp_path, b, a)
    async with cache.held(c):
        assert cached(tmp_path) == {a, c}


async def test_a_source_in_use_is_never_removed(bucket: Storage, tmp_path: Path) -> None:
    a, b, c = [await put(bucket, number) for number in range(3)]
    cache = SourceCache(bucket, tmp_path, SIZE)
    async with cache.held(a) as first, cache.held(b) as second:
        age(tmp_path, a, b)
        async with cache.held(c):
            assert first.exists()
            assert second.exists()
    assert len(cached(tmp_path)) == 1


@contextlib.contextmanager
def _held_by_another_process(lock: str) -> Iterator[subprocess.Popen[bytes]]:
    script = "import fcntl, sys; f = open(sys.argv[1]); fcntl.flock(f, fcntl.LOCK_SH); print(flush=True); input()"
    command = [sys.executable, "-c", script, lock]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        yield other


async def test_a_source_that_another_process_uses_is_not_removed(bucket: Storage, tmp_path: Path) -> None:
    a, b = [await put(bucket, number) for number in range(2)]
    cache = SourceCache(bucket, tmp_path, SIZE)
    async with cache.held(a):
        pass
    with _held_by_another_process(f"{tmp_path / a}{LOCK}") as other:
        async with cache.held(b):
            assert cached(tmp_path) == {a, b}
        other.kill()
    async with cache.held(b):
        assert cached(tmp_path) == {b}


async def test_partial_downloads_of_a_dead_process_are_removed(bucket: Storage, tmp_path: Path) -> None:
    sha256 = await put(bucket, 1)
    (tmp_path / f"{sha256}.part").write_bytes(bytes(5 * SIZE))
    async with SourceCache(bucket, tmp_path, SIZE).held(sha256) as path:
        assert path.stat().st_size == SIZE
    assert cached(tmp_path) == {sha256}


async def test_a_source_that_does_not_match_its_digest_is_refused(bucket: Storage, tmp_path: Path) -> None:
    wrong = "a" * 64
    await bucket.put_bytes(keys.source(wrong), b"something else")
    with pytest.raises(StorageDamaged, match=wrong):
        async with SourceCache(bucket, tmp_path, SIZE).held(wrong):
            pytest.fail("it was given out")
    assert cached(tmp_path) == set()


async def test_a_missing_source_is_reported(bucket: Storage, tmp_path: Path) -> None:
    with pytest.raises(StorageMissing):
        async with SourceCache(bucket, tmp_path, SIZE).held("b" * 64):
            pytest.fail("it was given out")


async def test_a_cancelled_task_releases_the_source_it_waited_for(bucket: Storage, tmp_path: Path) -> None:
    sha256 = await put(bucket, 1)
    cache = SourceCache(bucket, tmp_path, 0)
    entered = asyncio.Event()

    async def hold() -> None:
        async with cache.held(sha256):
            entered.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(hold())
    await entered.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert cached(tmp_path) == set()
