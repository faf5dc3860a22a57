"""Open a source of any address for reading in parts, or fetch it into a file."""

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

COPY_CHUNK: Final = 4 * 1024 * 1024
DESCRIPTORS: Final = Path("/proc/self/fd")


class FileReader:
    """Reads a local file that is open and checked."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.size = os.fstat(file.fileno()).st_size

    async def read(self, offset: int, length: int) -> bytes:
        return await asyncio.to_thread(os.pread, self.file.fileno(), length, offset)


@asynccontextmanager
async def open_source(address: Address, rules: InputRules, storage: Storage | None = None) -> AsyncIterator[Reader]:
    """Open a source for reading in parts; `storage` has the uploaded ones."""
    match address:
        case LocalAddress() | BucketAddress() if rules.served is not None:
            size = await _served_size(address, rules)
            yield BlockReader(rules.served.read, size)
        case LocalAddress():
            with open_file(address, rules) as file:
                yield FileReader(file)
        case WebAddress():
            async with _web_client(rules) as web, web.reading(address.url) as reader:
                yield reader
        case BucketAddress():
            size = await _object_size(address, rules)
            yield BlockReader(partial(_read_object, address), size)
        case StoredAddress():
            with _stored_faults(address):
                stored = _require_storage(address, storage)
                size = await _stored_size(address, stored)
                yield BlockReader(partial(stored.get_bytes, keys.source(address.sha256)), size)


async def fetch(
    address: Address,
    path: Path,
    rules: InputRules,
    storage: Storage | None = None,
    *,
    on_progress: OnProgress | None = None,
) -> FetchedSource:
    """Copy a source into the file `path`, and return its size and hash. An existing file is overwritten."""
    match address:
        case LocalAddress() | BucketAddress() if rules.served is not None:
            await _served_size(address, rules)
            with _object_faults(address):
                return FetchedSource(*await rules.served.fetch(path, on_progress))
        case LocalAddress():
            with open_file(address, rules) as file:
                return await _copy_file(file, path, rules, on_progress)
        case WebAddress():
            async with _web_client(rules) as web:
                return await web.download(address.url, path, on_progress=on_progress)
        case BucketAddress():
            return await _download_object(address, path, rules, on_progress)
        case StoredAddress():
            with _stored_faults(address):
                stored = _require_storage(address, storage)
                found = await stored.download(keys.source(address.sha256), path, sha256=address.sha256)
                return FetchedSource(found.size, found.sha256)


def _web_client(rules: InputRules) -> WebClient:
    from reelstate.media.sources.web import WebClient  # noqa: PLC0415 - httpx loads slowly

    return WebClient(rules)


@contextmanager
def open_file(address: LocalAddress, rules: InputRules) -> Iterator[BinaryIO]:
    """Open a local source. The checks apply to the open descriptor, not to its path, which may change."""
    try:
        # Do not block on a pipe, and do not make a terminal the controlling one.
        descriptor = os.open(address.path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError as error:
        raise _open_error(address, error) from error
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
    path = _real_path(address.path, descriptor)
    if rules.roots and not any(path.is_relative_to(os.path.realpath(root)) for root in rules.roots):
        raise UnusableSource(
            "forbidden",
            f"{address} is outside the folders that sources are read from",
            hint="add its folder to REEL_INPUT_ROOTS",
        )
    check_limit(str(address), found.st_size, rules.limit)


def _real_path(path: Path, descriptor: int) -> Path:
    """Return the path of an open file without links."""
    link = DESCRIPTORS / str(descriptor)
    real = Path(os.path.realpath(link if link.exists() else path))
    if not os.path.samestat(real.stat(), os.fstat(descriptor)):
        raise UnusableSource("forbidden", f"{path} changed while it was opened", hint="submit it again")
    return real


def _open_error(address: LocalAddress, error: OSError) -> SourceError:
    match error:
        case FileNotFoundError() | NotADirectoryError():
            return UnusableSource(
                "missing", f"there is no file {address}", hint="check the path on the machine of this worker"
            )
        case PermissionError():
            return UnusableSource(
                "denied", f"no permission to read {address}", hint="let the user of this worker read it"
            )
        case _:
            return SourceUnavailable(f"{address}: {error.strerror}", hint="check the disk")


async def _copy_file(file: BinaryIO, path: Path, rules: InputRules, on_progress: OnProgress | None) -> FetchedSource:
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
    chunk = source.read(COPY_CHUNK)
    update(chunk)
    return target.write(chunk)


async def _served_size(address: LocalAddress | BucketAddress, rules: InputRules) -> int:
    assert rules.served is not None  # noqa: S101 - checked by the caller
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


def _require_storage(address: StoredAddress, storage: Storage | None) -> Storage:
    if storage is None:
        raise SourceUnavailable(f"{address}: no storage is configured", hint="set REEL_STORAGE_URL")
    return storage


async def _stored_size(address: StoredAddress, storage: Storage) -> int:
    size = await storage.size(keys.source(address.sha256))
    if size is None:
        raise StorageMissing(f"{address} is not in the storage")
    return size


@contextmanager
def _stored_faults(address: StoredAddress) -> Iterator[None]:
    """Raise `UnusableSource` for an upload that is missing: it has no other copy."""
    try:
        yield
    except StorageMissing as error:
        hint = "upload it again if it was deleted; check that worker and server have the same REEL_STORAGE_URL"
        raise UnusableSource("missing", f"{address} is not in the storage", hint=hint) from error


async def _read_object(address: BucketAddress, offset: int, length: int) -> bytes:
    with _object_faults(address):
        return await _bucket(address).get_bytes(address.key, offset, length)


async def _download_object(
    address: BucketAddress, path: Path, rules: InputRules, on_progress: OnProgress | None
) -> FetchedSource:
    size = await _object_size(address, rules)

    def check_progress(received: int) -> None:
        check_limit(str(address), received, rules.limit)
        if on_progress is not None:
            on_progress(received, size)

    with _object_faults(address):
        stored = await _bucket(address).download(address.key, path, on_progress=check_progress)
    return FetchedSource(stored.size, stored.sha256)


def _bucket(address: BucketAddress) -> Bucket:
    """Open a bucket outside the deployment, which may have any keys."""
    return Bucket(address.bucket, check=str)


@contextmanager
def _object_faults(address: LocalAddress | BucketAddress) -> Iterator[None]:
    """Turn storage errors into source errors: missing and denied are final, others may pass."""
    try:
        yield
    except StorageMissing as error:
        hint = error.hint if isinstance(address, LocalAddress) else "check the bucket and the key"
        raise UnusableSource("missing", error.message, hint=hint) from error
    except StorageDenied as error:
        raise UnusableSource("denied", error.message, hint=error.hint) from error
    except StorageError as error:
        raise SourceUnavailable(f"{address}: {error.message}", hint=error.hint) from error
