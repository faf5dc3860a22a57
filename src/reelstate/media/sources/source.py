"""The door for sources: a path, a web address or an object becomes something to read in parts, or a file."""

from __future__ import annotations

import asyncio
import hashlib
import os
import stat
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from reelstate.artifacts import keys
from reelstate.artifacts.bucket import Bucket
from reelstate.artifacts.faults import folder_faults
from reelstate.artifacts.storage import Storage
from reelstate.core.errors import StorageDenied, StorageError, StorageMissing
from reelstate.media.sources.address import Address, BucketAddress, InputRules, LocalAddress, StoredAddress, WebAddress
from reelstate.media.sources.errors import SourceError, SourceUnavailable, UnusableSource
from reelstate.media.sources.fetched import FetchedSource, OnProgress, check_limit
from reelstate.media.sources.reader import BlockReader, Reader

if TYPE_CHECKING:
    from reelstate.media.sources.web import WebClient

CHUNK: Final = 4 * 1024 * 1024
OPENED: Final = Path("/proc/self/fd")


class FileReader:
    """A local file that has been opened and checked."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.size = os.fstat(file.fileno()).st_size

    async def read(self, offset: int, length: int) -> bytes:
        return await asyncio.to_thread(os.pread, self.file.fileno(), length, offset)


@asynccontextmanager
async def open_source(address: Address, rules: InputRules, storage: Storage | None = None) -> AsyncIterator[Reader]:
    """Read a source in parts where it lies; one that was uploaded lies in the storage."""
    match address:
        case LocalAddress() | BucketAddress() if rules.served is not None:
            size = await _served_size(address, rules)
            yield BlockReader(rules.served.read, size)
        case LocalAddress():
            with open_file(address, rules) as file:
                yield FileReader(file)
        case WebAddress():
            async with _web(rules) as web, web.reading(address.url) as reader:
                yield reader
        case BucketAddress():
            size = await _object_size(address, rules)
            yield BlockReader(partial(_part, address), size)
        case StoredAddress():
            with _stored_faults(address):
                kept = _open(address, storage)
                size = await _stored_size(address, kept)
                yield BlockReader(partial(kept.get_bytes, keys.source(address.sha256)), size)


async def fetch(
    address: Address,
    path: Path,
    rules: InputRules,
    storage: Storage | None = None,
    *,
    on_progress: OnProgress | None = None,
) -> FetchedSource:
    """Have the source as a file of ours, hashed on its way. What is there at `path` is overwritten."""
    match address:
        case LocalAddress() | BucketAddress() if rules.served is not None:
            await _served_size(address, rules)
            with _object_faults(address):
                return FetchedSource(*await rules.served.fetch(path, on_progress))
        case LocalAddress():
            with open_file(address, rules) as file:
                return await _copied(file, path, rules, on_progress)
        case WebAddress():
            async with _web(rules) as web:
                return await web.download(address.url, path, on_progress=on_progress)
        case BucketAddress():
            return await _object(address, path, rules, on_progress)
        case StoredAddress():
            with _stored_faults(address):
                kept = _open(address, storage)
                found = await kept.download(keys.source(address.sha256), path, sha256=address.sha256)
                return FetchedSource(found.size, found.sha256)


def _web(rules: InputRules) -> WebClient:
    from reelstate.media.sources.web import WebClient  # noqa: PLC0415 - httpx takes longer to load than all the rest of a worker

    return WebClient(rules)


@contextmanager
def open_file(address: LocalAddress, rules: InputRules) -> Iterator[BinaryIO]:
    """Open a local source. What was opened is checked, not what its name stood for a moment before."""
    try:
        # A pipe would hold up the open, and a terminal would become ours.
        descriptor = os.open(address.path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError as error:
        raise _not_opened(address, error) from error
    try:
        _check_file(address, descriptor, rules)
        with os.fdopen(descriptor, "rb", buffering=0, closefd=False) as file:
            yield file
    finally:
        os.close(descriptor)


def _check_file(address: LocalAddress, descriptor: int, rules: InputRules) -> None:
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        raise UnusableSource("address", f"{address} is not a file", hint="name a file, not a folder or a device")
    place = _place(address.path, descriptor)
    if rules.roots and not any(place.is_relative_to(os.path.realpath(root)) for root in rules.roots):
        raise UnusableSource(
            "forbidden",
            f"{address} lies outside the folders that sources may be taken from",
            hint="see REEL_INPUT_ROOTS",
        )
    check_limit(str(address), found.st_size, rules.limit)


def _place(path: Path, descriptor: int) -> Path:
    """Where the opened file really lies."""
    link = OPENED / str(descriptor)
    place = Path(os.path.realpath(link if link.exists() else path))
    if not os.path.samestat(place.stat(), os.fstat(descriptor)):
        raise UnusableSource("forbidden", f"{path} was changed while it was opened", hint="submit it again")
    return place


def _not_opened(address: LocalAddress, error: OSError) -> SourceError:
    match error:
        case FileNotFoundError() | NotADirectoryError():
            return UnusableSource("missing", f"there is no file {address}", hint="is it on this worker's machine?")
        case PermissionError():
            return UnusableSource("denied", f"{address} may not be read", hint="let the user of this worker read it")
        case _:
            return SourceUnavailable(f"{address}: {error.strerror}", hint="see that the disk is there and well")


async def _copied(file: BinaryIO, path: Path, rules: InputRules, on_progress: OnProgress | None) -> FetchedSource:
    size, digest = 0, hashlib.sha256()
    total = os.fstat(file.fileno()).st_size
    with folder_faults(str(path)), path.open("wb") as target:
        while copied := await asyncio.to_thread(_copy_chunk, file, target, digest.update):
            size += copied
            check_limit(str(path), size, rules.limit)
            if on_progress is not None:
                on_progress(size, total)
    return FetchedSource(size, digest.hexdigest())


def _copy_chunk(source: BinaryIO, target: BinaryIO, update: Callable[[bytes], None]) -> int:
    chunk = source.read(CHUNK)
    update(chunk)
    return target.write(chunk)


async def _served_size(address: LocalAddress | BucketAddress, rules: InputRules) -> int:
    assert rules.served is not None  # noqa: S101 - asked before
    with _object_faults(address):
        size = await rules.served.length()
    check_limit(str(address), size, rules.limit)
    return size


async def _object_size(address: BucketAddress, rules: InputRules) -> int:
    with _object_faults(address):
        size = await _bucket(address).size(address.key)
    if size is None:
        raise UnusableSource("missing", f"there is no object {address}", hint="check the bucket and the key")
    check_limit(str(address), size, rules.limit)
    return size


def _open(address: StoredAddress, storage: Storage | None) -> Storage:
    if storage is None:
        raise SourceUnavailable(f"{address}: there is no storage here", hint="see REEL_STORAGE_URL")
    return storage


async def _stored_size(address: StoredAddress, storage: Storage) -> int:
    size = await storage.size(keys.source(address.sha256))
    if size is None:
        raise StorageMissing(f"{address} is not in the storage")
    return size


@contextmanager
def _stored_faults(address: StoredAddress) -> Iterator[None]:
    """What was uploaded can't be had from anywhere else."""
    try:
        yield
    except StorageMissing as error:
        hint = "it was deleted: upload it again; or the worker has another storage than the server"
        raise UnusableSource("missing", f"{address} is not in the storage", hint=hint) from error


async def _part(address: BucketAddress, offset: int, length: int) -> bytes:
    with _object_faults(address):
        return await _bucket(address).get_bytes(address.key, offset, length)


async def _object(
    address: BucketAddress, path: Path, rules: InputRules, on_progress: OnProgress | None
) -> FetchedSource:
    size = await _object_size(address, rules)

    def hear(so_far: int) -> None:
        check_limit(str(address), so_far, rules.limit)
        if on_progress is not None:
            on_progress(so_far, size)

    with _object_faults(address):
        stored = await _bucket(address).download(address.key, path, on_progress=hear)
    return FetchedSource(stored.size, stored.sha256)


def _bucket(address: BucketAddress) -> Bucket:
    """A bucket of somebody else, whose keys may be any."""
    return Bucket(address.bucket, check=str)


@contextmanager
def _object_faults(address: LocalAddress | BucketAddress) -> Iterator[None]:
    """What is missing or refused where somebody else keeps it stays so; the rest may pass."""
    try:
        yield
    except StorageMissing as error:
        hint = error.hint if isinstance(address, LocalAddress) else "check the bucket and the key"
        raise UnusableSource("missing", error.message, hint=hint) from error
    except StorageDenied as error:
        raise UnusableSource("denied", error.message, hint=error.hint) from error
    except StorageError as error:
        raise SourceUnavailable(f"{address}: {error.message}", hint=error.hint) from error
