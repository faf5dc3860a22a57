"""Files of remote workers: what a task reads and writes, as its permit allows."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import re
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Final, NamedTuple

from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.responses import RedirectResponse, StreamingResponse
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from reelstate.api.body import JsonRoute
from reelstate.api.context import context_of
from reelstate.api.errors import problems
from reelstate.api.remotes import Granted, InRemotes, Remotes
from reelstate.artifacts.bucket import Bucket
from reelstate.artifacts.faults import folder_faults
from reelstate.artifacts.keys import SOURCES, VERSIONS, attributes, checked
from reelstate.artifacts.stored import CHUNK, Stored
from reelstate.artifacts.unpack import ArchiveLimits, Unpacked, unpack
from reelstate.core.errors import InvalidRequest, NotFound, PermitRefused, StorageDamaged, TooLarge
from reelstate.media.sources.address import WebAddress, parse_address
from reelstate.media.sources.errors import SourceError
from reelstate.media.sources.source import open_source
from reelstate.remote.wire import PREFIX, ListedFile, ListedFiles, StoredFile, UnpackedAnswer
from reelstate.services.permits import Grant

router = APIRouter(
    prefix=PREFIX,
    tags=["worker"],
    route_class=JsonRoute,
    responses=problems(401, 403, 404, 409, 413, 422, 429, 503, 507),
)
SIGNED_SECONDS: Final = 3600
PARTIAL, UNSATISFIABLE = 206, 416
BYTES: Final[dict[str, Any]] = {"content": {"application/octet-stream": {}}}
MAX_LISTED: Final = 10_000
_RANGE: Final = re.compile(r"bytes=(\d{1,18})-(\d{0,18})", re.ASCII)
_DIGEST: Final = re.compile(r"sha-256=:([A-Za-z0-9+/]{43}=):")
Read = Callable[[int, int], Awaitable[bytes]]


@router.get("/files")
async def list_files(remotes: InRemotes, grant: Granted, prefix: Annotated[str, Query(max_length=900)]) -> ListedFiles:
    """List the files of the task's job under a prefix."""
    await remotes.require_held(grant, fresh=False)
    if not f"{checked(prefix)}/".startswith(f"{VERSIONS}/{grant.key.job_id}/"):
        raise NotFound("file", prefix, hint="a task can list the files of its own job")
    files = [each async for each in remotes.storage.list(prefix)][:MAX_LISTED]
    return ListedFiles(files=[ListedFile(key=each.key, size=each.size, modified=each.modified) for each in files])


@router.get(
    "/files/{key:path}",
    response_class=Response,
    responses={
        200: {**BYTES, "description": "The whole file"},
        PARTIAL: {**BYTES, "description": "The requested range"},
        307: {"description": "A redirect to the bucket, valid for an hour"},
        UNSATISFIABLE: {"description": "The range starts after the end of the file"},
    },
)
async def read(
    remotes: InRemotes,
    grant: Granted,
    key: str,
    span: Annotated[str | None, Header(alias="Range", max_length=100)] = None,
) -> Response:
    """Read a file of the task's job, or a range of it."""
    await remotes.require_held(grant, fresh=False)
    if not await remotes.inspector.may_read(grant, checked(key)):
        raise NotFound("file", key, hint="a task can read the files of its own job, and its source")
    size = await remotes.storage.size(key)
    if size is None:
        raise NotFound("file", key, hint="it was never written, or has been deleted")
    storage = remotes.storage
    if isinstance(storage, Bucket) and remotes.settings.remote_downloads == "signed":
        return RedirectResponse(await storage.signed(key, SIGNED_SECONDS), 307)
    headers = {"Content-Type": attributes(key)["Content-Type"]}
    return _ranged(size, span, lambda start, length: storage.get_bytes(key, start, length), headers)


@router.get(
    "/source",
    response_class=Response,
    responses={
        200: {**BYTES, "description": "The whole file"},
        PARTIAL: {**BYTES, "description": "The requested range"},
        UNSATISFIABLE: {"description": "The range starts after the end of the file"},
    },
)
async def source(
    remotes: InRemotes,
    grant: Granted,
    span: Annotated[str | None, Header(alias="Range", max_length=100)] = None,
) -> Response:
    """Read the source of the task's job, if it is a path or in a bucket that the server reads."""
    await remotes.require_held(grant, fresh=False)
    # Only transcode checks who may use a source; in the spec of another pipeline, `source` has no meaning.
    named = await remotes.source(grant.key.job_id) if remotes.inspector.concerns(grant) else None
    if not isinstance(named, str) or isinstance(address := parse_address(named), WebAddress):
        raise NotFound("source", grant.key.job_id, hint="a worker downloads a web address itself")
    opened = AsyncExitStack()
    try:
        reader = await opened.enter_async_context(open_source(address, remotes.rules))
    except SourceError as error:
        raise NotFound("source", address, hint=f"on the server: {error}") from error
    return _ranged(reader.size or 0, span, reader.read, {}, opened)


def _ranged(
    size: int,
    span: str | None,
    read: Read,
    headers: dict[str, str],
    opened: AsyncExitStack | None = None,
) -> Response:
    """Return a response with the whole file or one range of it."""
    start, end, status = 0, size, 200
    if span is not None and (match := _RANGE.fullmatch(span)):
        start, end, status = int(match[1]), min(size, int(match[2]) + 1 if match[2] else size), PARTIAL
        if start >= end:
            return _ClosingResponse(None, UNSATISFIABLE, {"Content-Range": f"bytes */{size}"}, opened)
        headers |= {"Content-Range": f"bytes {start}-{end - 1}/{size}"}
    headers |= {"Content-Length": str(end - start), "Accept-Ranges": "bytes"}
    return _ClosingResponse(_blocks(read, start, end), status, headers, opened)


async def _blocks(read: Read, start: int, end: int) -> AsyncIterator[bytes]:
    while start < end:
        block = await read(start, min(CHUNK, end - start))
        if not block:
            return  # the file was truncated: the response ends early, and the client sees that
        yield block
        start += len(block)


class _ClosingResponse(StreamingResponse):
    """A streaming response that closes its source."""

    def __init__(
        self, body: AsyncIterator[bytes] | None, status: int, headers: dict[str, str], opened: AsyncExitStack | None
    ) -> None:
        super().__init__(iter(()) if body is None else body, status, headers)
        self._opened = opened

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            if self._opened is not None:
                await self._opened.aclose()


@router.put("/files/{key:path}", responses=problems(408))
async def write(
    request: Request,
    remotes: InRemotes,
    grant: Granted,
    key: str,
    content_digest: Annotated[str, Header(max_length=200, description="`sha-256=:…:` of the body (RFC 9530).")],
) -> StoredFile:
    """Store a file that a task made, atomically, under the token of its attempt."""
    sha256 = _sha256(content_digest)
    public = remotes.inspector.is_public(grant, checked(key))
    if not public and not remotes.inspector.may_write(grant, key):
        raise PermitRefused(f"this attempt may not write {key}", hint=f"write under {grant.prefix}/")
    await remotes.require_held(grant)
    async with _scratch(remotes) as folder:
        received = await _receive(request, folder / "body", remotes.settings.remote_file_limit)
        if received.sha256 != sha256:
            raise StorageDamaged(f"the body has sha256 {received.sha256} (expected {sha256})", hint="send it again")
        await remotes.require_held(grant)
        stored = Stored(key, *received) if public else await _store(remotes, grant, key, folder / "body", received)
    return StoredFile(key=stored.key, size=stored.size, sha256=stored.sha256)


async def _store(remotes: Remotes, grant: Grant, key: str, path: Path, received: ReceivedFile) -> Stored:
    if remotes.inspector.is_source(grant, key):
        expected = f"{SOURCES}/{received.sha256}"
        if key != expected:
            raise InvalidRequest("key", "does not match the sha256 of the source", hint=f"expected {expected}")
        stored = await remotes.storage.put_file(key, path)
        await remotes.inspector.source_sent(grant, received.sha256)
        return stored
    return await remotes.storage.put_file(key, path)


@router.put("/archive", responses=problems(408))
async def archive(request: Request, remotes: InRemotes, grant: Granted) -> UnpackedAnswer:
    """Store the files of a tar.gz under the token of an attempt; one invalid member refuses all."""
    await remotes.require_held(grant)
    limit = remotes.settings.remote_file_limit
    async with _scratch(remotes) as folder:
        await _receive(request, folder / "body", limit)
        (folder / "files").mkdir()
        files = await asyncio.to_thread(
            _unpack, folder / "body", folder / "files", ArchiveLimits(file_size=limit, total=limit)
        )
        await remotes.require_held(grant)
        stored = [await remotes.storage.put_file(f"{grant.prefix}/{each.name}", each.path) for each in files]
    return UnpackedAnswer(files=[StoredFile(key=each.key, size=each.size, sha256=each.sha256) for each in stored])


def _unpack(path: Path, folder: Path, limits: ArchiveLimits) -> list[Unpacked]:
    with folder_faults(str(folder)), path.open("rb") as file:
        return unpack(file, folder, limits)


def _sha256(header: str) -> str:
    match = _DIGEST.fullmatch(header)
    if match is None:
        raise InvalidRequest("Content-Digest", "is not `sha-256=:…:`", hint="expected the sha256 of the body in base64")
    return base64.b64decode(match[1]).hex()


class ReceivedFile(NamedTuple):
    size: int
    sha256: str


@asynccontextmanager
async def _scratch(remotes: Remotes) -> AsyncIterator[Path]:
    """Create a temporary folder for one request."""
    with folder_faults(str(remotes.scratch)):
        await asyncio.to_thread(remotes.scratch.mkdir, parents=True, exist_ok=True)
        folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="reel-upload-", dir=remotes.scratch))
    try:
        yield folder
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


async def _receive(request: Request, path: Path, limit: int) -> ReceivedFile:
    """Stream a body to a file and return its size and hash. Raise HTTPException 408 if it stalls."""
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length) > limit:
        raise TooLarge("body", int(length), limit)
    digest, size, buffer = hashlib.sha256(), 0, bytearray()
    seconds = context_of(request).settings.body_timeout
    chunks = aiter(request.stream())
    with folder_faults(str(path)), path.open("wb") as file:
        while True:
            try:
                async with asyncio.timeout(seconds):
                    chunk = await anext(chunks, None)
            except (TimeoutError, ClientDisconnect):
                raise HTTPException(408, f"no data of the body for {seconds:g} s") from None
            if chunk is not None:
                size += len(chunk)
                buffer += chunk
                if size > limit:
                    raise TooLarge("body", size, limit)
            if len(buffer) >= CHUNK or chunk is None:
                data, buffer = bytes(buffer), bytearray()
                await asyncio.to_thread(_write, file, digest.update, data)
            if chunk is None:
                return ReceivedFile(size, digest.hexdigest())


def _write(file: BinaryIO, update: Callable[[bytes], None], data: bytes) -> None:
    update(data)
    file.write(data)
