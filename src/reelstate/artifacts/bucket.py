"""Storage in a bucket of S3, Google Cloud or Azure, over obstore."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, GenericError
from obstore.store import from_url

from reelstate.artifacts.faults import bucket_faults, folder_faults
from reelstate.artifacts.keys import attributes, checked
from reelstate.artifacts.stored import Listed, Stored, stored, unchanged, verified

if TYPE_CHECKING:
    from obstore.store import ObjectStore

SMALL: Final = 8 * 1024 * 1024
"""Up to here a file is sent in one piece, and the size of a piece of larger ones."""
MAX_PIECES: Final = 9_000
"""S3 takes 10,000."""
AT_ONCE: Final = 4
BATCH: Final = 1_000
CLIENT: Final = {
    "allow_http": True,  # an endpoint says by its own address whether it speaks TLS; the clouds' own ones all do
    "connect_timeout": "5s",
    "read_timeout": "60s",  # how long a server may say nothing
    "timeout": "12h",  # how long one call may take, and a large source may take long: left out, it would be 30 s
}
RETRIES: Final = {"max_retries": 3, "retry_timeout": timedelta(seconds=30)}
"""Short, because the engine tries a task again, perhaps elsewhere."""


class Bucket:
    def __init__(self, url: str, *, check: Callable[[str], str] = checked) -> None:
        self.url = url
        self._checked = check
        self._made: ObjectStore | None = None

    async def put_file(self, key: str, path: Path, *, ours: bool = True) -> Stored:  # noqa: ARG002 - always copied
        with folder_faults(str(path)):
            size = (await asyncio.to_thread(path.stat)).st_size
        if size <= SMALL:
            with folder_faults(str(path)):
                data = await asyncio.to_thread(path.read_bytes)
            return await self.put_bytes(key, data)
        if (kept := await self._kept(self._checked(key))) is not None:
            with folder_faults(str(path)), path.open("rb") as file:
                digest = await asyncio.to_thread(hashlib.file_digest, file, "sha256")
            return unchanged(Stored(key, size, digest.hexdigest()), kept)
        return await self._send(key, path, size)

    async def put_bytes(self, key: str, data: bytes) -> Stored:
        new = stored(self._checked(key), data)
        # Some servers ignore If-None-Match, so existence is checked first; elsewhere the condition decides races.
        if (kept := await self._kept(key)) is not None:
            return unchanged(new, kept)
        with bucket_faults(self._place(key)):
            try:
                await obstore.put_async(self._store, key, data, mode="create", attributes=_attributes(key))
            except AlreadyExistsError:
                kept = await self._hashed(key)
            else:
                return new
        return unchanged(new, kept)

    async def replace_bytes(self, key: str, data: bytes) -> Stored:
        with bucket_faults(self._place(key)):
            await obstore.put_async(
                self._store, self._checked(key), data, attributes=_attributes(key), use_multipart=False
            )
        return stored(key, data)

    async def get_bytes(self, key: str, start: int | None = None, length: int | None = None) -> bytes:
        with bucket_faults(self._place(key)):
            if start is None and length is None:
                return bytes(await (await obstore.get_async(self._store, self._checked(key))).bytes_async())
            return await self._range(self._checked(key), start or 0, length)

    async def download(
        self, key: str, path: Path, *, sha256: str | None = None, on_progress: Callable[[int], None] | None = None
    ) -> Stored:
        part = path.with_name(f"{path.name}.part")
        try:
            with folder_faults(str(part)), part.open("wb") as file:
                found = await self._hashed(self._checked(key), file, on_progress)
                await asyncio.to_thread(_finish, file)
            verified(found, sha256)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
        return found

    def local_path(self, key: str) -> Path | None:  # noqa: ARG002 - nothing of a bucket is on this machine
        return None

    async def size(self, key: str) -> int | None:
        with bucket_faults(self._place(key)):
            try:
                return (await obstore.head_async(self._store, self._checked(key)))["size"]
            except FileNotFoundError:
                return None

    async def exists(self, key: str) -> bool:
        return await self.size(key) is not None

    async def list(self, prefix: str) -> AsyncIterator[Listed]:
        with bucket_faults(self._place(prefix)):
            async for batch in obstore.list(self._store, self._checked(prefix), chunk_size=BATCH):
                for found in batch:
                    yield Listed(found["path"], found["size"], found["last_modified"])

    async def folders(self, prefix: str) -> tuple[str, ...]:
        with bucket_faults(self._place(prefix)):
            found = await obstore.list_with_delimiter_async(self._store, self._checked(prefix))
        return tuple(sorted(name.rstrip("/").rpartition("/")[2] for name in found["common_prefixes"]))

    async def delete(self, prefix: str) -> int:
        found = [listed.key async for listed in self.list(prefix)]
        if await self.exists(prefix):
            found.append(prefix)
        with bucket_faults(self._place(prefix)):
            for start in range(0, len(found), BATCH):
                await obstore.delete_async(self._store, found[start : start + BATCH])
        return len(found)

    async def signed(self, key: str, seconds: float) -> str:
        """An address from which anybody may read the object for so long."""
        store: Any = self._store
        with bucket_faults(self._place(key)):
            return await obstore.sign_async(store, "GET", self._checked(key), timedelta(seconds=seconds))

    @property
    def _store(self) -> ObjectStore:
        """Made at the first call: credentials are looked for when they are needed."""
        if self._made is None:
            options: Any = {"client_options": CLIENT, "retry_config": RETRIES}
            self._made = from_url(self.url, **options)
        return self._made

    def _place(self, key: str) -> str:
        return f"{self.url}/{key}"

    async def _kept(self, key: str) -> Stored | None:
        """What is kept under a key, hashed from its bytes; None in the usual case that there is nothing."""
        return await self._hashed(key) if await self.exists(key) else None

    async def _hashed(
        self, key: str, file: BinaryIO | None = None, on_progress: Callable[[int], None] | None = None
    ) -> Stored:
        """Read an object, into a file if one is given; what it writes to is never read back."""
        digest, size = hashlib.sha256(), 0
        with bucket_faults(self._place(key)):
            answer = await obstore.get_async(self._store, key)
            async for chunk in answer.stream(min_chunk_size=SMALL):
                size += len(chunk)
                await asyncio.to_thread(digest.update, chunk)
                if file is not None:
                    await asyncio.to_thread(file.write, chunk)
                if on_progress is not None:
                    on_progress(size)
        return Stored(key, size, digest.hexdigest())

    async def _send(self, key: str, path: Path, size: int) -> Stored:
        """Send a large file in pieces that are hashed on their way."""
        digest = hashlib.sha256()
        with bucket_faults(self._place(key)), path.open("rb") as file:
            await obstore.put_async(
                self._store,
                key,
                _pieces(file, digest),
                attributes=_attributes(key),
                chunk_size=max(SMALL, -(-size // MAX_PIECES)),
                max_concurrency=AT_ONCE,
            )
        return Stored(key, size, digest.hexdigest())

    async def _range(self, key: str, start: int, length: int | None) -> bytes:
        span: Any = {"offset": start} if length is None else (start, start + length)
        try:
            answer = await obstore.get_async(self._store, key, options={"range": span})
            return bytes(await answer.bytes_async())
        except BaseError as error:
            if _past_the_end(error) and (start >= (await self.size(key) or 0) or length == 0):
                return b""
            if not isinstance(error, GenericError) or "non-partial" not in str(error):
                raise
        return await self._skip_to(key, start, length)

    async def _skip_to(self, key: str, start: int, length: int | None) -> bytes:
        """The part of an object from a server that does not serve parts: what comes before it is thrown away."""
        end = None if length is None else start + length
        offset, kept = 0, bytearray()
        answer = await obstore.get_async(self._store, key)
        async for chunk in answer.stream(min_chunk_size=1):
            kept += bytes(chunk)[max(0, start - offset) : None if end is None else max(0, end - offset)]
            offset += len(chunk)
            if end is not None and offset >= end:
                break
        return bytes(kept)


async def _pieces(file: BinaryIO, digest: Any) -> AsyncIterator[bytes]:
    while piece := await asyncio.to_thread(file.read, SMALL):
        await asyncio.to_thread(digest.update, piece)
        yield piece


def _past_the_end(error: BaseError) -> bool:
    text = str(error)
    return "416" in text or "InvalidRange" in text or "range" in text.lower()


def _attributes(key: str) -> Any:
    return attributes(key)


def _finish(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())
