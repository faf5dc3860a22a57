"""The door for films that are sent to us: bytes come in any number of pieces, and leave as a source of the storage.

```text
 create ─▶ receive (a piece) … receive (the last) ─▶ finish ─▶ sources/<sha256>
             │ file in the spool, row says how much of it counts
             └─ broken off: what came stays, the sender asks how much and goes on
```

What is on the disk beyond the row's number does not count: it is cut off before more is written. So a process that is
killed anywhere leaves something to go on from.
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
"""Bytes after which what has come is brought to the disk and counts: so much is sent again after a crash, at most."""
LOCK_WAIT: Final = 10.0
"""Seconds that a sender waits for the one before it, which is told to hang up."""
LOOK_EVERY: Final = 0.02
REMEMBERED: Final = 1000
"""Hashes of uploads under way that are kept at hand; the others are made anew from the file."""
EXPIRE_EVERY: Final = 300.0
STRANGE: Final = 86_400.0
"""Seconds after which a file that belongs to no upload is thrown away."""


class ReceiverSettings(Protocol):
    """The settings that say what may be sent, and where it waits."""

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
class _Line:
    """A sender that is being listened to."""

    timeout: asyncio.Timeout
    wanted: bool = True

    def wait(self, seconds: float | None) -> None:
        """Wait so long for the next bytes; with None, for as long as it takes to write them down."""
        now = asyncio.get_running_loop().time()
        if self.timeout.expired():
            return
        if seconds is None:
            self.timeout.reschedule(None)
        else:
            self.timeout.reschedule(now + seconds if self.wanted else now)

    def hang_up(self) -> None:
        self.wanted = False
        if self.timeout.when() is not None:
            self.wait(0.0)


class UploadReceiver:
    def __init__(self, uploads: Uploads, storage: Storage, spool: Spool, *, limit: int, idle: float) -> None:
        self._uploads = uploads
        self._storage = storage
        self._spool = spool
        self._limit = limit
        self._idle = idle
        self._lines: dict[str, _Line] = {}
        self._hashes: OrderedDict[str, tuple[int, _Hash]] = OrderedDict()

    @property
    def limit(self) -> int:
        return self._limit

    async def create(self, *, user_id: str, length: int | None, name: str = "", digest: str | None = None) -> Upload:
        if length is not None:
            self._require_allowed(length)
            await asyncio.to_thread(self._spool.require_room, length)
        return await self._uploads.create(user_id=user_id, name=name, length=length, digest=digest)

    async def find(self, upload_id: str, *, owner: str | None) -> Upload:
        return await self._uploads.find(upload_id, owner=owner)

    async def receive(
        self, upload: Upload, pieces: AsyncIterator[bytes], *, offset: int = 0, digest: str | None = None
    ) -> Upload:
        """Write down what comes, from this offset on.

        With the sha256 of the piece, all of it counts or nothing. Without, what came counts also when it breaks off.
        An upload of unknown length can't be resumed, so its bytes always count as they come: towards the quota.
        """
        async with self._alone(upload.id) as (found, descriptor):
            if found.received != offset:
                raise UploadConflict(
                    f"upload {found.id} is at {found.received}, not at {offset}",
                    hint="ask how far it is (HEAD), and go on from there",
                )
            if found.complete:
                return found
            taking = _Taking(self._uploads, found, descriptor, self._running(found), self._limit)
            await asyncio.to_thread(taking.begin)
            await self._listen(taking, pieces, digest)
            self._remember(taking)
            return taking.upload

    def _remember(self, taking: _Taking) -> None:
        if taking.running is not None:
            self._hashes[taking.upload.id] = (taking.upload.received, taking.running)
        if len(self._hashes) > REMEMBERED:
            self._hashes.popitem(last=False)

    async def _listen(self, taking: _Taking, pieces: AsyncIterator[bytes], digest: str | None) -> None:
        upload_id = taking.upload.id
        piece = hashlib.sha256() if digest else None
        try:
            async with asyncio.timeout(self._idle) as timeout:
                line = self._lines[upload_id] = _Line(timeout)
                async for data in pieces:
                    if piece is not None:
                        piece.update(data)
                    line.wait(None)
                    await _to_its_end(taking.take(data, counting=piece is None or taking.upload.length is None))
                    line.wait(self._idle)
        except Exception as error:
            if piece is None:
                with suppress(ReelstateError):
                    await _to_its_end(taking.count())
            if isinstance(error, TimeoutError):
                raise UploadBroken(
                    f"nothing more came for {self._idle:g} s, or the sender has begun anew",
                    hint="ask how far it is (HEAD), and go on from there",
                ) from None
            raise
        finally:
            self._lines.pop(upload_id, None)
        if piece is not None and piece.hexdigest() != digest:
            raise _other_bytes("content-digest", piece.hexdigest(), digest)
        await _to_its_end(taking.count(last=True))

    async def finish(self, upload: Upload) -> Upload:
        """Give what has come whole its place among the sources; what is not as it was said to be goes."""
        if not upload.complete:
            raise UploadConflict(
                f"upload {upload.id} has {upload.received} of {upload.length} bytes", hint="send the rest of it"
            )
        if upload.sha256 is not None and await self._is_kept(upload):
            return upload
        async with self._alone(upload.id) as (found, _):
            whole = found if found.sha256 else await self._hashed(found)
            if not await self._is_kept(whole):
                await self._storage.put_file(keys.source(whole.sha256 or ""), self._spool.path(whole.id))
            await asyncio.to_thread(self._spool.remove, whole.id)
        return whole

    async def remove(self, upload_id: str, *, owner: str | None = None) -> bool:
        """Give an upload up, with what has come of it; a source that was made of it stays while a video needs it."""
        gone = await self._uploads.delete(upload_id, owner=owner)
        if gone:
            self._forget(upload_id)
            await asyncio.to_thread(self._spool.remove, upload_id)
        return gone

    async def expire(self) -> int:
        """Give up uploads whose time is over, and throw away files that belong to none; gives how many."""
        gone = await self._uploads.expire()
        names = await asyncio.to_thread(self._spool.names, older=STRANGE)
        strange = set(names) - await self._uploads.known(names)
        for name in {*gone, *strange}:
            self._forget(name)
            await asyncio.to_thread(self._spool.remove, name)
        return len(gone)

    @asynccontextmanager
    async def _alone(self, upload_id: str) -> AsyncIterator[tuple[Upload, int]]:
        """The upload as it is now, and its file, with nobody else writing: whoever still does is told to hang up."""
        until = time.monotonic() + LOCK_WAIT
        while time.monotonic() < until:
            if line := self._lines.get(upload_id):
                line.hang_up()
            with self._spool.held(upload_id) as descriptor:
                if descriptor is not None:
                    yield await self._still(upload_id), descriptor
                    return
            await asyncio.sleep(LOOK_EVERY)
        raise UploadConflict(f"another request still writes to upload {upload_id}", hint="try again in a moment")

    async def _still(self, upload_id: str) -> Upload:
        try:
            return await self._uploads.find(upload_id)
        except NotFound:
            await asyncio.to_thread(self._spool.remove, upload_id)
            raise

    def _running(self, upload: Upload) -> _Hash | None:
        """The hash of what counts so far, where it is at hand."""
        size, running = self._hashes.pop(upload.id, (0, hashlib.sha256()))
        return running if size == upload.received else None

    async def _hashed(self, upload: Upload) -> Upload:
        running = self._running(upload)
        with folder_faults(str(self._spool.folder)):
            sha256 = running.hexdigest() if running else await asyncio.to_thread(self._digest, upload)
        if upload.digest is not None and upload.digest != sha256:
            await self.remove(upload.id)
            raise _other_bytes("repr-digest", sha256, upload.digest)
        return await self._uploads.finish(upload, sha256)

    def _digest(self, upload: Upload) -> str:
        path = self._spool.path(upload.id)
        if path.stat().st_size < (upload.length or 0):
            raise StorageMissing(f"{path}: bytes that were counted are gone", hint="upload it again")
        os.truncate(path, upload.length or 0)
        return digest_of(path)

    async def _is_kept(self, upload: Upload) -> bool:
        return await self._storage.size(keys.source(upload.sha256 or "")) == upload.length

    def _require_allowed(self, length: int) -> None:
        if length < 1:
            raise InvalidRequest("length", f"{length} bytes are no film", hint="send a file that is not empty")
        if length > self._limit:
            raise TooLarge("length", length, self._limit, hint="raise REEL_INPUT_LIMIT, or send less")

    def _forget(self, upload_id: str) -> None:
        self._hashes.pop(upload_id, None)


class _Taking:
    """Bytes on their way into a file."""

    def __init__(self, uploads: Uploads, upload: Upload, descriptor: int, running: _Hash | None, limit: int) -> None:
        self.upload = upload
        self._uploads = uploads
        self._descriptor = descriptor
        self.running = running
        self._size = upload.received
        self._most = limit if upload.length is None else upload.length
        self._waiting = bytearray()

    def begin(self) -> None:
        """Cut off what does not count."""
        with folder_faults("upload"):
            if os.fstat(self._descriptor).st_size < self._size:
                raise StorageMissing("bytes that were counted are gone", hint="upload it again")
            os.truncate(self._descriptor, self._size)

    async def take(self, data: bytes, *, counting: bool) -> None:
        if self._size + len(self._waiting) + len(data) > self._most:
            raise TooLarge(
                "body",
                self._size + len(self._waiting) + len(data),
                self._most,
                hint="it may not be longer than it said",
            )
        self._waiting += data
        if len(self._waiting) >= CHUNK:
            await self._write()
        if counting and self._size - self.upload.received >= COUNT_EVERY:
            await self.count()

    async def count(self, *, last: bool = False) -> None:
        """Have what came count."""
        await self._write()
        await asyncio.to_thread(os.fdatasync, self._descriptor)
        last = last and self.upload.length is None
        if last or self._size > self.upload.received:
            self.upload = await self._uploads.receive(self.upload, self._size, last=last)

    async def _write(self) -> None:
        data = bytes(self._waiting)
        self._waiting.clear()
        await asyncio.to_thread(self._keep, data)
        self._size += len(data)

    def _keep(self, data: bytes) -> None:
        with folder_faults("upload"):
            view, offset = memoryview(data), self._size
            while view:
                written = os.pwrite(self._descriptor, view, offset)
                view, offset = view[written:], offset + written
        if self.running is not None:
            self.running.update(data)


def upload_receiver(store: Store, settings: ReceiverSettings) -> UploadReceiver:
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


async def _to_its_end(work: Awaitable[T]) -> T:
    """Whoever is stopped while a thread writes lets it finish: the file is somebody else's after that."""
    running = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait([running])
        raise


def _other_bytes(field: str, found: str, told: str | None) -> InvalidRequest:
    return InvalidRequest(field, f"the bytes that came have sha-256 {found}, not {told}", hint="send them again")
