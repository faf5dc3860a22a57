"""Videos over HTTP, with the verbs of `Videos`. The key decides who acts, so `actor` is not sent.

A source that is a file of this machine is uploaded first; an upload that breaks continues at the byte that the server
has.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Literal, Unpack

from reelstate.artifacts import keys
from reelstate.client.records import items_of, object_of, parser_of, record_of, video_detail_of
from reelstate.client.requests import API, Requests, given, known_id
from reelstate.connections.timeouts import RetryTimer
from reelstate.core.errors import InvalidRequest, NotFound, UploadBroken, UploadConflict
from reelstate.core.model import JobDetail, Json, Page, Submission, SubmitOptions, Submitted, Task, Verdict
from reelstate.library.model import NewVideo, Video, VideoDetail, VideoStatus
from reelstate.media import TRANSCODE
from reelstate.media.packaging.manifest import MASTER
from reelstate.media.planning.quality import Quality
from reelstate.remote.server import ServerUnavailable

PIECE: Final = 1024**2
"""Bytes that are read from a file at once."""
TUS: Final = {"Tus-Resumable": "1.0.0"}
OFFSET_STREAM: Final = "application/offset+octet-stream"
UPLOAD_TIMEOUT: Final = 600.0
"""Seconds without progress after which the connection of an upload counts as lost."""
SPEC_FIELDS: Final = ("profile", "qualities", "captions")
NO_SPEC: Final[Mapping[str, Json]] = {}


class HttpQualities:
    """Read the qualities of a job repeatedly."""

    def __init__(self, requests: Requests) -> None:
        self._requests = requests

    async def read(self, detail: JobDetail, current: Sequence[Task]) -> list[Quality]:
        """Return the qualities of a job; only one of `transcode` has some."""
        del current
        if detail.job.pipeline != TRANSCODE:
            return []
        return await self._requests.get(
            f"/jobs/{detail.job.id}/qualities", lambda found: items_of(found, parser_of(Quality))
        )


class HttpVideos:
    """The videos of a deployment."""

    def __init__(self, requests: Requests) -> None:
        self._requests = requests

    async def list(
        self,
        *,
        statuses: Collection[VideoStatus] | None = None,
        user_id: str | None = None,
        deleted: bool = False,
        limit: int = 50,
        after: str | None = None,
    ) -> Page[Video]:
        filters = {"status": list(statuses or ()), "user_id": user_id, "deleted": deleted}
        return await self._requests.pages("/videos", parser_of(Video), limit, after, **filters)

    async def get(self, video_id: int) -> VideoDetail:
        return await self._requests.get(_path(video_id), video_detail_of)

    async def submit_new(self, submission: Submission, video: NewVideo) -> Submitted:
        """Create a video and its first version."""
        _require_known(submission.spec)
        named = {"upload": await self._upload(Path(video.source))} if "://" not in video.source else {}
        body = {
            **(named or {"source": video.source}),
            "title": video.title,
            "priority": submission.priority,
            "delay": submission.delay,
            **given(digest=submission.digest, callback=submission.callback, user_id=submission.user_id or None),
            **submission.spec,
        }
        return await self._submit("/videos", body, submission.idempotency_key)

    async def retranscode(
        self, /, video_id: int, *, spec: Json = NO_SPEC, **options: Unpack[SubmitOptions]
    ) -> Submitted:
        _require_known(spec)
        body = {"priority": options.get("priority", 5), **given(callback=options.get("callback")), **spec}
        return await self._submit(f"{_path(video_id)}/retranscode", body, options.get("idempotency_key"))

    async def pin(self, /, video_id: int, job_id: int, *, actor: str = "", reason: str | None = None) -> Verdict:
        del actor
        return (await self._change(video_id, "pin", job=job_id, reason=reason))[0]

    async def unpin(self, /, video_id: int, *, actor: str = "", reason: str | None = None) -> Verdict:
        del actor
        return (await self._change(video_id, "unpin", reason=reason))[0]

    async def rollback(self, /, video_id: int, *, actor: str = "", reason: str | None = None) -> int:
        del actor
        return (await self._change(video_id, "rollback", reason=reason))[1]

    async def delete(self, /, video_id: int, *, actor: str = "", reason: str | None = None) -> Verdict:
        """Delete a video. The answer of the server is empty, so what was deleted before is read first."""
        del actor
        if (await self.get(video_id)).video.deleted_at is not None:
            return Verdict.REPEATED
        await self._requests.delete(_path(video_id), given(reason=reason))
        return Verdict.OK

    def qualities(self) -> HttpQualities:
        return HttpQualities(self._requests)

    def playlist(self, video_id: int) -> str:
        """Return the address of the playlist of the current version, for clients with a key."""
        return f"{self._requests.transport.url}{API}{_path(video_id)}/files/{keys.video(video_id, MASTER)}"

    async def has_playlist(self, video_id: int) -> bool:
        """Return whether a playlist can be read, also that of a version in progress."""
        path = self.playlist(video_id).removeprefix(self._requests.transport.url)
        try:
            async with self._requests.transport.open("GET", path):
                return True
        except NotFound:
            return False

    async def open_playback(self, video_id: int, lifetime: float) -> tuple[str, datetime]:
        """Return a temporary address that needs no key, and when it expires."""
        return await self._requests.post(
            f"{_path(video_id)}/playback",
            lambda found: (record_of(str, object_of(found).get("url")), record_of(datetime, found.get("expires_at"))),
            {"lifetime": lifetime},
        )

    async def _submit(self, path: str, body: dict[str, Any], idempotency_key: str | None) -> Submitted:
        headers = {} if idempotency_key is None else {"Idempotency-Key": idempotency_key}
        return await self._requests.post(path, _made, body, headers=headers)

    async def _change(
        self, video_id: int, verb: Literal["pin", "unpin", "rollback"], **fields: Any
    ) -> tuple[Verdict, int]:
        return await self._requests.post(f"{_path(video_id)}/{verb}", _changed, given(**fields))

    async def _upload(self, path: Path) -> str:
        """Upload a file and return the id of the upload."""
        size = (await asyncio.to_thread(path.stat)).st_size
        if not size:
            raise InvalidRequest("source", f"{path} is empty", hint="choose a file with a video")
        name = base64.b64encode(path.name.encode()).decode("ascii")
        headers = {**TUS, "Upload-Length": str(size), "Upload-Metadata": f"filename {name}"}
        upload = await self._requests.post(
            "/uploads", lambda found: record_of(str, object_of(found).get("id")), headers=headers
        )
        timer, received = RetryTimer(self._requests.transport.longest_outage), 0
        while received < size:
            try:
                await self._send(upload, path, received)
                received = size
            except (ServerUnavailable, UploadBroken, UploadConflict) as error:
                if not await timer.wait(error, "upload interrupted"):
                    raise
                before, received = received, await self._received(upload)
                timer = RetryTimer(self._requests.transport.longest_outage) if received > before else timer
        return upload

    async def _send(self, upload: str, path: Path, offset: int) -> None:
        headers = {**TUS, "Upload-Offset": str(offset), "Content-Type": OFFSET_STREAM}
        async with self._requests.transport.open(
            "PATCH", f"{API}/uploads/{upload}", content=_pieces(path, offset), headers=headers, silence=UPLOAD_TIMEOUT
        ):
            return

    async def _received(self, upload: str) -> int:
        return await self._requests.get(
            f"/uploads/{upload}", lambda found: record_of(int, object_of(found).get("received"))
        )


async def _pieces(path: Path, offset: int) -> AsyncIterator[bytes]:
    with path.open("rb") as file:
        file.seek(offset)
        while piece := await asyncio.to_thread(file.read, PIECE):
            yield piece


def _path(video_id: int) -> str:
    return f"/videos/{known_id(video_id, 'video')}"


def _require_known(spec: Mapping[str, Json]) -> None:
    for name in spec:
        if name not in SPEC_FIELDS:
            raise InvalidRequest(f"spec.{name}", "can't be set over HTTP", hint=f"fields: {', '.join(SPEC_FIELDS)}")


def _made(document: Any) -> Submitted:
    found = object_of(document)
    return record_of(Submitted, {**found, "job_id": found.get("job"), "resource_id": found.get("id")})


def _changed(document: Any) -> tuple[Verdict, int]:
    found = object_of(document)
    return record_of(Verdict, found.get("verdict")), record_of(int, found.get("job") or 0)
