"""Receive uploads: bytes arrive in any number of requests and become a source in the storage.

```text
 create ─▶ receive (a piece) … receive (the last) ─▶ finish ─▶ sources/<sha256>
             │ file in the spool, the row holds how many of its bytes count
             └─ interrupted: received bytes stay, the client asks for the offset and resumes
```

Bytes in the file beyond the row's number do not count and are cut off before more is written, so that an upload can be
resumed after a crash at any moment.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import tempfile
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from reelstate.artifacts import keys
from reelstate.artifacts.faults import folder_faults
from reelstate.artifacts.spool import Spool, spool_for
from reelstate.artifacts.storage import Storage, open_storage
from reelstate.artifacts.stored import CHUNK, digest_of
from reelstate.core.errors import (
    InvalidRequest,
    NotFound,
    ReelstateError,
    StorageMissing,
    TooLarge,
    UploadBroken,
    UploadConflict,
)
from reelstate.library.uploads import Upload, UploadLimits, Uploads
from reelstate.stores.store import Store

if TYPE_CHECKING:
    from hashlib import _Hash

T = TypeVar("T")
COUNT_EVERY: Final = 16 * 1024 * 1024
"""Bytes after which received data is synced to disk and counted: a crash loses at most this much."""
LOCK_WAIT: Final = 10.0
"""Seconds that a request waits for an earlier request to the same upload, which is stopped."""
LOCK_RETRY: Final = 0.02
MAX_HASHES: Final = 1000
"""Running hashes kept in memory; others are computed from the file."""
EXPIRE_EVERY: Final = 300.0
ORPHAN_AGE: Final = 86_400.0
"""Seconds after which a file without an upload is deleted."""


class ReceiverSettings(Protocol):
    """The settings of an `UploadReceiver`."""

    @property
    def storage_url(self) -> str: ...
    @property
    def scratch(self) -> str: ...
    @property
    def upload_folder(self) -> str: ...
    @property
    def upload_lifetime(self) -> float: ...
    @property
    def upload_open(self) -> int: ...
    @property
    def upload_unused(self) -> int: ...
    @property
    def upload_quota(self) -> int: ...
    @property
    def input_limit(self) -> int: ...
    @property
    def body_timeout(self) -> float: ...


@dataclass(slots=True)
class _Request:
    """A request that is sending bytes, and its timeout."""

    timeout: asyncio.Timeout
    stopped: bool = False

    def set_timeout(self, seconds: float | None) -> None:
        """Set the timeout for the next bytes; None while received bytes are written."""
        now = asyncio.get_running_loop().time()
        if self.timeout.expired():
            return
        if seconds is None:
            self.timeout.reschedule(None)
        else:
            self.timeout.reschedule(now if self.stopped else now + seconds)

    def stop(self) -> None:
        """End the request as soon as its received bytes are written."""
        self.stopped = True
        if self.timeout.when() is not None:
            self.set_timeout(0.0)


class UploadReceiver:
    """Write the bytes of uploads to the spool, and finished uploads to the storage.

    `limit` is the largest upload in bytes, `idle` the seconds that a request may send nothing.
    """

    def __init__(self, uploads: Uploads, storage: Storage, spool: Spool, *, limit: int, idle: float) -> None:
        self._uploads = uploads
        self._storage = storage
        self._spool = spool
        self._limit = limit
        self._idle = idle
        self._requests: dict[str, _Request] = {}
        self._hashes: OrderedDict[str, tuple[int, _Hash]] = OrderedDict()

    @property
    def limit(self) -> int:
        """The largest upload in bytes."""
        return self._limit

    async def create(self, *, user_id: str, length: int | None, name: str = "", digest: str | None = None) -> Upload:
        """Create an upload; raise for a length beyond the limit, the disk or the user's quota."""
        if length is not None:
            self._require_allowed(length)
            await asyncio.to_thread(self._spool.require_room, length)
        return await self._uploads.create(user_id=user_id, name=name, length=length, digest=digest)

    async def find(self, upload_id: str, *, owner: str | None) -> Upload:
        """Return an upload; raise `NotFound`."""
        return await self._uploads.find(upload_id, owner=owner)

    async def receive(
        self, upload: Upload, pieces: AsyncIterator[bytes], *, offset: int = 0, digest: str | None = None
    ) -> Upload:
        """Append the bytes of a request that starts at `offset`, and return the upload as it is then.

        With the sha256 of the request's bytes as `digest`, all of them count or none. Without, received bytes count
        even when the request is interrupted. An upload of unknown length can't be resumed, so its bytes always count
        towards the quota as they arrive. Raises `UploadConflict` for another offset, `UploadBroken` after a timeout.
        """
        async with self._lock(upload.id) as (found, descriptor):
            if found.received != offset:
                raise UploadConflict(
                    f"upload {found.id} is at {found.received}, not at {offset}",
                    hint="get the current offset with HEAD and resume from there",
                )
            if found.complete:
                return found
            writer = _Writer(self._uploads, found, descriptor, self._pop_hash(found), self._limit)
            await asyncio.to_thread(writer.truncate)
            await self._write_pieces(writer, pieces, digest)
            if writer.hash is not None:
                self._hashes[upload.id] = (writer.upload.received, writer.hash)
            if len(self._hashes) > MAX_HASHES:
                self._hashes.popitem(last=False)
            return writer.upload

    async def _write_pieces(self, writer: _Writer, pieces: AsyncIterator[bytes], digest: str | None) -> None:
        upload_id = writer.upload.id
        request_hash = hashlib.sha256() if digest else None
        try:
            async with asyncio.timeout(self._idle) as timeout:
                request = self._requests[upload_id] = _Request(timeout)
                async for data in pieces:
                    if request_hash is not None:
                        request_hash.update(data)
                    request.set_timeout(None)
                    counting = request_hash is None or writer.upload.length is None
                    await _finish_despite_cancel(writer.add(data, counting=counting))
                    request.set_timeout(self._idle)
        except Exception as error:
            if request_hash is None:
                with suppress(ReelstateError):
                    await _finish_despite_cancel(writer.count())
            if isinstance(error, TimeoutError):
                raise UploadBroken(
                    f"no bytes arrived for {self._idle:g} s, or the client sent another request",
                    hint="get the current offset with HEAD and resume from there",
                ) from None
            raise
        finally:
            self._requests.pop(upload_id, None)
        if request_hash is not None and request_hash.hexdigest() != digest:
            raise _digest_mismatch("content-digest", request_hash.hexdigest(), digest)
        await _finish_despite_cancel(writer.count(last=True))

    async def finish(self, upload: Upload) -> Upload:
        """Store a complete upload as a source; delete it and raise when its sha256 is not the announced one."""
        if not upload.complete:
            raise UploadConflict(
                f"upload {upload.id} has {upload.received} of {upload.length} bytes", hint="send the remaining bytes"
            )
        if upload.sha256 is not None and await self._is_stored(upload):
            return upload
        async with self._lock(upload.id) as (found, _):
            whole = found if found.sha256 else await self._record_hash(found)
            if not await self._is_stored(whole):
                await self._storage.put_file(keys.source(whole.sha256 or ""), self._spool.path(whole.id))
            await asyncio.to_thread(self._spool.remove, whole.id)
        return whole

    async def remove(self, upload_id: str, *, owner: str | None = None) -> bool:
        """Delete an upload and its bytes; return whether it existed. Its source stays while a video needs it."""
        deleted = await self._uploads.delete(upload_id, owner=owner)
        if deleted:
            await self._remove_file(upload_id)
        return deleted

    async def expire(self) -> int:
        """Delete expired uploads, and old files without an upload; return how many uploads."""
        expired = await self._uploads.expire()
        names = await asyncio.to_thread(self._spool.names, older=ORPHAN_AGE)
        orphans = set(names) - await self._uploads.known(names)
        for name in {*expired, *orphans}:
            await self._remove_file(name)
        return len(expired)

    async def _remove_file(self, upload_id: str) -> None:
        self._hashes.pop(upload_id, None)
        await asyncio.to_thread(self._spool.remove, upload_id)

    @asynccontextmanager
    async def _lock(self, upload_id: str) -> AsyncIterator[tuple[Upload, int]]:
        """Lock the file of an upload, stopping a request that still writes; yield the upload and the descriptor."""
        until = time.monotonic() + LOCK_WAIT
        while time.monotonic() < until:
            if request := self._requests.get(upload_id):
                request.stop()
            with self._spool.held(upload_id) as descriptor:
                if descriptor is not None:
                    yield await self._reload(upload_id), descriptor
                    return
            await asyncio.sleep(LOCK_RETRY)
        raise UploadConflict(f"another request still writes to upload {upload_id}", hint="try again in a moment")

    async def _reload(self, upload_id: str) -> Upload:
        try:
            return await self._uploads.find(upload_id)
        except NotFound:
            await asyncio.to_thread(self._spool.remove, upload_id)
            raise

    def _pop_hash(self, upload: Upload) -> _Hash | None:
        """Return the running hash of the bytes that count; None where it is not in memory."""
        size, running = self._hashes.pop(upload.id, (0, hashlib.sha256()))
        return running if size == upload.received else None

    async def _record_hash(self, upload: Upload) -> Upload:
        running = self._pop_hash(upload)
        with folder_faults(str(self._spool.folder)):
            sha256 = running.hexdigest() if running else await asyncio.to_thread(self._hash_file, upload)
        if upload.digest is not None and upload.digest != sha256:
            await self.remove(upload.id)
            raise _digest_mismatch("repr-digest", sha256, upload.digest)
        return await self._uploads.finish(upload, sha256)

    def _hash_file(self, upload: Upload) -> str:
        path = self._spool.path(upload.id)
        if path.stat().st_size < (upload.length or 0):
            raise StorageMissing(f"{path} is shorter than the bytes received", hint="upload it again")
        os.truncate(path, upload.length or 0)
        return digest_of(path)

    async def _is_stored(self, upload: Upload) -> bool:
        return await self._storage.size(keys.source(upload.sha256 or "")) == upload.length

    def _require_allowed(self, length: int) -> None:
        if length < 1:
            raise InvalidRequest("length", f"{length} bytes", hint="send a file that is not empty")
        if length > self._limit:
            raise TooLarge("length", length, self._limit, hint="raise REEL_INPUT_LIMIT, or send less")


class _Writer:
    """Append bytes to the file of an upload, and count them in its row."""

    def __init__(self, uploads: Uploads, upload: Upload, descriptor: int, running: _Hash | None, limit: int) -> None:
        self.upload = upload
        self._uploads = uploads
        self._descriptor = descriptor
        self.hash = running
        self._size = upload.received
        self._limit_bytes = limit if upload.length is None else upload.length
        self._buffer = bytearray()

    def truncate(self) -> None:
        """Cut off bytes that do not count."""
        with folder_faults("upload"):
            if os.fstat(self._descriptor).st_size < self._size:
                raise StorageMissing("the file is shorter than the bytes received", hint="upload it again")
            os.truncate(self._descriptor, self._size)

    async def add(self, data: bytes, *, counting: bool) -> None:
        """Buffer and write bytes; with `counting`, count them from time to time."""
        if self._size + len(self._buffer) + len(data) > self._limit_bytes:
            raise TooLarge(
                "body",
                self._size + len(self._buffer) + len(data),
                self._limit_bytes,
                hint="it is longer than announced",
            )
        self._buffer += data
        if len(self._buffer) >= CHUNK:
            await self._write()
        if counting and self._size - self.upload.received >= COUNT_EVERY:
            await self.count()

    async def count(self, *, last: bool = False) -> None:
        """Sync the written bytes to disk and count them."""
        await self._write()
        await asyncio.to_thread(os.fdatasync, self._descriptor)
        last = last and self.upload.length is None
        if last or self._size > self.upload.received:
            self.upload = await self._uploads.receive(self.upload, self._size, last=last)

    async def _write(self) -> None:
        data = bytes(self._buffer)
        self._buffer.clear()
        await asyncio.to_thread(self._write_file, data)
        self._size += len(data)

    def _write_file(self, data: bytes) -> None:
        with folder_faults("upload"):
            view, offset = memoryview(data), self._size
            while view:
                written = os.pwrite(self._descriptor, view, offset)
                view, offset = view[written:], offset + written
        if self.hash is not None:
            self.hash.update(data)


def upload_receiver(store: Store, settings: ReceiverSettings) -> UploadReceiver:
    """Return the receiver of a server."""
    storage = open_storage(settings.storage_url)
    scratch = Path(settings.scratch or tempfile.gettempdir()).expanduser().absolute()
    limits = UploadLimits(open=settings.upload_open, unused=settings.upload_unused, bytes=settings.upload_quota)
    return UploadReceiver(
        Uploads(store, lifetime=settings.upload_lifetime, limits=limits),
        storage,
        spool_for(storage, settings.upload_folder, scratch),
        limit=settings.input_limit,
        idle=settings.body_timeout,
    )


async def _finish_despite_cancel(work: Awaitable[T]) -> T:
    """Await work to its end even when cancelled: afterwards another request may write to the file."""
    running = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait([running])
        raise


def _digest_mismatch(field: str, found: str, announced: str | None) -> InvalidRequest:
    return InvalidRequest(field, f"the received bytes have sha-256 {found}, not {announced}", hint="send them again")
