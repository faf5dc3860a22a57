"""The storage of a remote worker: files go to the server and come from it, one request each, checksummed.

A run reads what belongs to its own job and writes under its own token; the permit that it carries says which those are.
While the server is away a run waits here, as long as its lease is not known to be lost.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import math
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, BinaryIO, Final

import httpx

from reelstate.artifacts.faults import folder_faults
from reelstate.artifacts.keys import attributes, checked
from reelstate.artifacts.stored import CHUNK, Listed, Stored, digest_of, stored, verified
from reelstate.core.errors import LeaseLost, NotFound, PermitExpired, StorageDenied, StorageMissing
from reelstate.remote.server import PAST_THE_END, Body, HttpPermit, ServerUnavailable
from reelstate.remote.wire import ListedFiles, StoredFile
from reelstate.worker.permit import current_permit

SOURCE: Final = "/source"
"""Where the server gives the bytes of the job's own source, whatever its address is to the server."""
PARTIAL: Final = 206


class HttpFiles:
    def __init__(self, url: str) -> None:
        self.url = url

    async def put_file(self, key: str, path: Path, *, ours: bool = True) -> Stored:  # noqa: ARG002 - always sent
        with folder_faults(str(path)):
            size = (await asyncio.to_thread(path.stat)).st_size
            new = Stored(checked(key), size, await asyncio.to_thread(digest_of, path))
        return await self._put(new, lambda: _chunks(path))

    async def put_bytes(self, key: str, data: bytes) -> Stored:
        return await self._put(stored(checked(key), data), data)

    async def replace_bytes(self, key: str, data: bytes) -> Stored:  # noqa: ARG002 - whatever they are
        raise _denied(f"{key} can't be replaced")

    async def get_bytes(self, key: str, start: int | None = None, length: int | None = None) -> bytes:
        return await self.read(_place(key), start or 0, length)

    async def read(self, place: str, start: int, length: int | None) -> bytes:
        """A part of what the server has at a place."""
        if length == 0:
            return b""
        end = "" if length is None else start + length - 1
        span = {"Range": f"bytes={start}-{end}"} if start or length is not None else {}

        async def call() -> bytes:
            async with _stream(place, span) as response:
                return b"" if response.status_code == PAST_THE_END else await response.aread()

        data: bytes = await self._patiently(place, call)
        return data

    async def download(self, key: str, path: Path, *, sha256: str | None = None) -> Stored:
        part = path.with_name(f"{path.name}.part")
        try:
            found = await self.fetch(_place(key), part)
            kept = verified(Stored(key, *found), sha256)
            with folder_faults(str(path)):
                part.replace(path)
        finally:
            part.unlink(missing_ok=True)
        return kept

    async def fetch(
        self, place: str, path: Path, on_progress: Callable[[int, int | None], None] | None = None
    ) -> tuple[int, str]:
        """Have what is at a place as a file; a download that breaks off is taken up where it broke."""
        download = _Download(path, on_progress)
        try:
            await self._patiently(place, lambda: self._go_on(place, download))
        finally:
            download.file.close()
        return download.size, download.digest.hexdigest()

    async def _go_on(self, place: str, download: _Download) -> None:
        span = {"Range": f"bytes={download.size}-"} if download.size else {}
        async with _stream(place, span) as response:
            if response.status_code != PAST_THE_END:
                await download.take(response)

    def local_path(self, key: str) -> Path | None:  # noqa: ARG002 - nothing of it is on this machine
        return None

    async def size(self, key: str) -> int | None:
        try:
            return await self.length(_place(key))
        except StorageMissing:
            return None

    async def length(self, place: str) -> int:
        """How many bytes there are at a place, told with the first: an answer without a body can't tell why not."""

        async def call() -> int:
            async with _stream(place, {"Range": "bytes=0-0"}) as response:
                return int(response.headers["content-range"].rpartition("/")[2])

        found: int = await self._patiently(place, call)
        return found

    async def exists(self, key: str) -> bool:
        return await self.size(key) is not None

    async def list(self, prefix: str) -> AsyncIterator[Listed]:
        permit = _permit()
        answer = await permit.server.get("/files", ListedFiles, permit=permit.text, prefix=checked(prefix))
        for each in answer.files:
            yield Listed(each.key, each.size, each.modified)

    async def folders(self, prefix: str) -> tuple[str, ...]:
        names = {each.key.removeprefix(f"{prefix}/").partition("/") async for each in self.list(prefix)}
        return tuple(sorted({name for name, slash, _ in names if slash}))

    async def delete(self, prefix: str) -> int:
        raise _denied(f"{prefix} can't be deleted")

    async def _put(self, new: Stored, body: Body) -> Stored:
        digest = base64.b64encode(bytes.fromhex(new.sha256)).decode()
        headers = {
            "Content-Type": attributes(new.key)["Content-Type"],
            "Content-Length": str(new.size),
            "Content-Digest": f"sha-256=:{digest}:",
        }

        async def call() -> StoredFile:
            permit = _permit()
            return await permit.server.put(_place(new.key), body, StoredFile, permit=permit.text, headers=headers)

        answer: StoredFile = await self._patiently(new.key, call)
        return verified(Stored(answer.key, answer.size, answer.sha256), new.sha256)

    async def _patiently(self, place: str, call: Callable[[], Any]) -> Any:
        """A permit that has just ended is renewed by the next heartbeat; a lost lease ends this run in a moment."""
        try:
            return await _permit().server.patiently(f"{place} waits for the server", _retrying(call), math.inf)
        except NotFound as error:
            raise StorageMissing(error.message, hint=error.hint) from error
        except LeaseLost as error:
            raise StorageDenied(error.message, hint=error.hint) from error


def _retrying(call: Callable[[], Any]) -> Callable[[], Any]:
    async def again() -> Any:
        try:
            return await call()
        except PermitExpired as error:
            raise ServerUnavailable(error.message, hint=error.hint) from error

    return again


class HttpSource:
    """The source of the job at hand, through the server."""

    def __init__(self, files: HttpFiles) -> None:
        self._files = files

    async def length(self) -> int:
        return await self._files.length(SOURCE)

    async def read(self, offset: int, length: int) -> bytes:
        return await self._files.read(SOURCE, offset, length)

    async def fetch(self, path: Path, on_progress: Callable[[int, int | None], None] | None) -> tuple[int, str]:
        return await self._files.fetch(SOURCE, path, on_progress)


class _Download:
    """A file on its way."""

    def __init__(self, path: Path, on_progress: Callable[[int, int | None], None] | None) -> None:
        with folder_faults(str(path)):
            self.file: BinaryIO = path.open("wb")
        self.size = 0
        self.digest = hashlib.sha256()
        self._on_progress = on_progress

    async def take(self, response: httpx.Response) -> None:
        """Write what comes; an answer with the whole begins anew."""
        if response.status_code != PARTIAL and self.size:
            self.file.seek(0)
            self.file.truncate()
            self.size, self.digest = 0, hashlib.sha256()
        length = response.headers.get("content-length")
        total = None if length is None else self.size + int(length)
        async for chunk in response.aiter_bytes(CHUNK):
            with folder_faults(self.file.name):
                await asyncio.to_thread(self._write, chunk)
            if self._on_progress is not None:
                self._on_progress(self.size, total)

    def _write(self, chunk: bytes) -> None:
        self.digest.update(chunk)
        self.size += self.file.write(chunk)


async def _chunks(path: Path) -> AsyncIterator[bytes]:
    with folder_faults(str(path)):
        file = await asyncio.to_thread(path.open, "rb")
        try:
            while chunk := await asyncio.to_thread(file.read, CHUNK):
                yield chunk
        finally:
            file.close()


def _permit() -> HttpPermit:
    """The permit of the run that asks: it says which files, and from whom."""
    permit = current_permit()
    if not isinstance(permit, HttpPermit):
        raise StorageDenied("no run asks for it", hint="a remote worker reaches files from within a run alone")
    return permit


def _stream(place: str, headers: dict[str, str]) -> AbstractAsyncContextManager[httpx.Response]:
    permit = _permit()
    return permit.server.stream(place, permit=permit.text, headers=headers)


def _place(key: str) -> str:
    return f"/files/{checked(key)}"


def _denied(words: str) -> StorageDenied:
    return StorageDenied(f"{words} by a remote worker", hint="what is public is changed by the keeper of the house")
