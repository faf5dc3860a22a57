"""The storage of a remote worker: transfers files to and from the server, one request each, with checksums.

A run reads the files of its job and writes under its own token; its permit determines both. While the server is
unreachable the run waits, unless its lease is known to be lost.
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
from reelstate.remote.server import RANGE_NOT_SATISFIABLE, Body, HttpPermit, ServerUnavailable
from reelstate.remote.wire import ListedFiles, StoredFile
from reelstate.worker.permit import current_permit

SOURCE: Final = "/source"
"""The path at which the server returns the source of the job."""
PARTIAL_CONTENT: Final = 206


class HttpFiles:
    """Implements `Storage` with requests to a server, under the permit of the current run."""

    def __init__(self, url: str) -> None:
        self.url = url

    async def put_file(self, key: str, path: Path, *, ours: bool = True) -> Stored:  # noqa: ARG002 - it is always copied
        with folder_faults(str(path)):
            size = (await asyncio.to_thread(path.stat)).st_size
            new = Stored(checked(key), size, await asyncio.to_thread(digest_of, path))
        return await self._put(new, lambda: _chunks(path))

    async def put_bytes(self, key: str, data: bytes) -> Stored:
        return await self._put(stored(checked(key), data), data)

    async def replace_bytes(self, key: str, data: bytes) -> Stored:  # noqa: ARG002 - it is refused
        raise _denied(f"replacing {key}")

    async def get_bytes(self, key: str, start: int | None = None, length: int | None = None) -> bytes:
        return await self.read(_path_of(key), start or 0, length)

    async def read(self, url_path: str, start: int, length: int | None) -> bytes:
        """Return a range of the bytes at a path of the server."""
        if length == 0:
            return b""
        end = "" if length is None else start + length - 1
        range_header = {"Range": f"bytes={start}-{end}"} if start or length is not None else {}

        async def call() -> bytes:
            async with _stream(url_path, range_header) as response:
                return b"" if response.status_code == RANGE_NOT_SATISFIABLE else await response.aread()

        data: bytes = await self._retry(url_path, call)
        return data

    async def download(self, key: str, path: Path, *, sha256: str | None = None) -> Stored:
        part = path.with_name(f"{path.name}.part")
        try:
            fetched = await self.fetch(_path_of(key), part)
            downloaded = verified(Stored(key, *fetched), sha256)
            with folder_faults(str(path)):
                part.replace(path)
        finally:
            part.unlink(missing_ok=True)
        return downloaded

    async def fetch(
        self, url_path: str, path: Path, on_progress: Callable[[int, int | None], None] | None = None
    ) -> tuple[int, str]:
        """Download a path of the server to a file; an interrupted download continues at its offset."""
        download = _Download(path, on_progress)
        try:
            await self._retry(url_path, lambda: self._continue(url_path, download))
        finally:
            download.file.close()
        return download.size, download.digest.hexdigest()

    async def _continue(self, url_path: str, download: _Download) -> None:
        range_header = {"Range": f"bytes={download.size}-"} if download.size else {}
        async with _stream(url_path, range_header) as response:
            if response.status_code != RANGE_NOT_SATISFIABLE:
                await download.write(response)

    def local_path(self, key: str) -> Path | None:  # noqa: ARG002 - no file is on this machine
        return None

    async def size(self, key: str) -> int | None:
        try:
            return await self.length(_path_of(key))
        except StorageMissing:
            return None

    async def length(self, url_path: str) -> int:
        """Return the size of a path of the server, with a GET of one byte: a HEAD response has no error document."""

        async def call() -> int:
            async with _stream(url_path, {"Range": "bytes=0-0"}) as response:
                return int(response.headers["content-range"].rpartition("/")[2])

        found: int = await self._retry(url_path, call)
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
        raise _denied(f"deleting {prefix}")

    async def _put(self, new: Stored, body: Body) -> Stored:
        digest = base64.b64encode(bytes.fromhex(new.sha256)).decode()
        headers = {
            "Content-Type": attributes(new.key)["Content-Type"],
            "Content-Length": str(new.size),
            "Content-Digest": f"sha-256=:{digest}:",
        }

        async def call() -> StoredFile:
            permit = _permit()
            return await permit.server.put(_path_of(new.key), body, StoredFile, permit=permit.text, headers=headers)

        answer: StoredFile = await self._retry(new.key, call)
        return verified(Stored(answer.key, answer.size, answer.sha256), new.sha256)

    async def _retry(self, url_path: str, call: Callable[[], Any]) -> Any:
        """Repeat a call while the server is unavailable or the permit expired: the next heartbeat renews it."""
        try:
            return await _permit().server.retry_unavailable(
                f"transfer of {url_path} failed", _retry_expired(call), math.inf
            )
        except NotFound as error:
            raise StorageMissing(error.message, hint=error.hint) from error
        except LeaseLost as error:
            raise StorageDenied(error.message, hint=error.hint) from error


def _retry_expired(call: Callable[[], Any]) -> Callable[[], Any]:
    async def attempt() -> Any:
        try:
            return await call()
        except PermitExpired as error:
            raise ServerUnavailable(error.message, hint=error.hint) from error

    return attempt


class HttpSource:
    """Reads the source of the current job through the server."""

    def __init__(self, files: HttpFiles) -> None:
        self._files = files

    async def length(self) -> int:
        return await self._files.length(SOURCE)

    async def read(self, offset: int, length: int) -> bytes:
        return await self._files.read(SOURCE, offset, length)

    async def fetch(self, path: Path, on_progress: Callable[[int, int | None], None] | None) -> tuple[int, str]:
        return await self._files.fetch(SOURCE, path, on_progress)


class _Download:
    """A download in progress."""

    def __init__(self, path: Path, on_progress: Callable[[int, int | None], None] | None) -> None:
        with folder_faults(str(path)):
            self.file: BinaryIO = path.open("wb")
        self.size = 0
        self.digest = hashlib.sha256()
        self._on_progress = on_progress

    async def write(self, response: httpx.Response) -> None:
        """Write a response; one that contains the whole file restarts the download."""
        if response.status_code != PARTIAL_CONTENT and self.size:
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
    """Return the permit of the current run. Raise StorageDenied outside of a run."""
    permit = current_permit.get()
    if not isinstance(permit, HttpPermit):
        raise StorageDenied("no run is active", hint="a remote worker can access files only inside of a run")
    return permit


def _stream(url_path: str, headers: dict[str, str]) -> AbstractAsyncContextManager[httpx.Response]:
    permit = _permit()
    return permit.server.stream(url_path, permit=permit.text, headers=headers)


def _path_of(key: str) -> str:
    return f"/files/{checked(key)}"


def _denied(action: str) -> StorageDenied:
    return StorageDenied(f"{action} is not allowed to a remote worker", hint="the keeper publishes and deletes files")
