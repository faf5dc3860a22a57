"""Streams for players: the files of a video, for clients with a key, a session or a URL with a ticket.

A player requests playlists and segments without our credentials, so the ticket is part of the path. Playlists refer to
each other by relative URLs below it:

```text
 /play/<ticket>/videos/7/master.m3u8 ─▶ ../../versions/8/package/0/1/720p.m3u8 ─▶ ../../../encode/0/1/720p.mp4
```
"""

from __future__ import annotations

import hashlib
from datetime import datetime
from functools import partial
from typing import Annotated, Any, Final

from fastapi import APIRouter, Path, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from reelstate.api.auth import Reader
from reelstate.api.body import JsonRoute
from reelstate.api.errors import problems
from reelstate.api.library import InLibrary, Library
from reelstate.api.ranges import PARTIAL, UNCHANGED, UNSATISFIABLE, ServedFile, file_response
from reelstate.api.schemas import LARGEST_ID, Input
from reelstate.api.videos import PREFIX, VideoId
from reelstate.artifacts import keys
from reelstate.core.errors import InvalidRequest, NotFound, StorageMissing
from reelstate.documents import Document
from reelstate.library.playback import LIFETIME, MAX_LIFETIME, Playback
from reelstate.media.packaging.manifest import DASH, MASTER

router = APIRouter(tags=["playback"], route_class=JsonRoute)
PLAY: Final = "/play"
FOR_EVER: Final = "private, max-age=31536000, immutable"
"""Files of a version never change. Shared caches must not keep them: access is checked on each request."""
ANYWHERE: Final = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": "Accept-Ranges, Content-Length, Content-Range, ETag",
    "Cross-Origin-Resource-Policy": "cross-origin",
}
"""A ticket needs no cookies, so that pages of any site may play with one."""
PREFLIGHT: Final = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "GET, HEAD",
    "Access-Control-Allow-Headers": "Range, If-Range, If-None-Match",
    "Access-Control-Max-Age": "86400",
}
LONGEST_NUMBER: Final = 16
FILE: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "The file: a playlist, a manifest, a segment, captions, a picture",
        "content": {
            kind: {"schema": {"type": "string", "format": "binary"}}
            for kind in ("application/vnd.apple.mpegurl", "application/dash+xml", "video/mp4", "text/vtt", "image/jpeg")
        },
    },
    PARTIAL: {"description": "The requested range"},
    UNCHANGED: {"description": "The file has not changed"},
    UNSATISFIABLE: {"description": "The range is beyond the end of the file"},
}
Key = Annotated[str, Path(max_length=keys.LONGEST_KEY, description="Below the storage: `videos/…` or `versions/…`.")]
TicketText = Annotated[str, Path(max_length=100, description="From `POST /api/v1/videos/{id}/playback`.")]


class PlaybackRequest(Input):
    model_config = ConfigDict(json_schema_extra={"example": {"lifetime": 3600}})

    lifetime: Annotated[float, Field(ge=1, le=MAX_LIFETIME)] = Field(
        default=LIFETIME, description="Seconds until the URL expires."
    )
    version: Annotated[int, Field(ge=0, le=LARGEST_ID)] | None = Field(
        default=None, description="A version (job) to play; default the current one, or the one in progress."
    )


class PlaybackDocument(BaseModel):
    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "url": "https://example.com/play/Zk1…/videos/244813922304/master.m3u8",
                "dash": "https://example.com/play/Zk1…/videos/244813922304/manifest.mpd",
                "expires_at": "2026-01-01T18:00:00Z",
            }
        }
    )

    url: str = Field(description="The HLS playlist. The URL gives access to the video: keep it secret.")
    dash: str = Field(description="The DASH manifest, once a version is complete.")
    expires_at: datetime = Field(description="When the URL expires; earlier if its key or its video is deleted.")


@router.post(f"{PREFIX}/{{video_id}}/playback", status_code=201, response_model=PlaybackDocument)
async def open_playback(
    request: Request,
    library: InLibrary,
    principal: Reader,
    video_id: VideoId,
    body: PlaybackRequest | None = None,
) -> Document:
    """Create a playback address. Any player can use it without a key until it expires."""
    wanted = body or PlaybackRequest()
    root = f"{keys.VIDEOS}/{video_id}/" if wanted.version is None else f"{keys.version(wanted.version)}/"
    if wanted.version is not None:
        detail = await library.videos.get(video_id, owner=principal.owner)
        if wanted.version not in {each.job.id for each in detail.versions if each.removed_at is None}:
            raise NotFound("version", wanted.version, hint="the video's page lists its versions")
    ticket = await library.playback.open(
        video_id, key_id=principal.key_id, owner=principal.owner, lifetime=wanted.lifetime
    )
    base = f"{str(request.base_url).rstrip('/')}{PLAY}/{ticket.text}/{root}"
    return {"url": f"{base}{MASTER}", "dash": f"{base}{DASH}", "expires_at": ticket.expires_at}


@router.head(f"{PREFIX}/{{video_id}}/files/{{key:path}}", include_in_schema=False)
@router.get(
    f"{PREFIX}/{{video_id}}/files/{{key:path}}",
    response_class=Response,
    responses=FILE,
)
async def file(request: Request, library: InLibrary, principal: Reader, video_id: VideoId, key: Key) -> Response:
    """Get a file of a video. Files under `videos/` follow the current version; those under `versions/` never change."""
    await library.playback.require_video(video_id, owner=principal.owner)
    return await _file(request, library, video_id, key)


@router.head(f"{PLAY}/{{ticket}}/{{key:path}}", include_in_schema=False)
@router.get(
    f"{PLAY}/{{ticket}}/{{key:path}}",
    response_class=Response,
    responses={**FILE, **problems(404)},
)
async def play(request: Request, library: InLibrary, ticket: TicketText, key: Key) -> Response:
    """Get a file of a video with a playback ticket."""
    response = await _file(request, library, await library.playback.ticket_video(ticket), key)
    response.headers.update(ANYWHERE)
    return response


@router.options(f"{PLAY}/{{ticket}}/{{key:path}}", status_code=204)
async def preflight(ticket: TicketText, key: Key) -> Response:  # noqa: ARG001 - the same answer for all
    """Answer the CORS preflight of a player on another site."""
    return Response(status_code=204, headers=PREFLIGHT)


async def _file(request: Request, library: Library, video_id: int, key: str) -> Response:
    if not await _belongs(library.playback, video_id, key):
        raise _no_such(key)
    kind = {"Content-Type": keys.attributes(key)["Content-Type"]}
    if key.startswith(f"{keys.VIDEOS}/"):
        return file_response(request, await _changing(library, key, {**kind, "Cache-Control": "no-cache"}))
    size = await library.storage.size(key)
    if size is None:
        raise _no_such(key)
    etag = f'"{hashlib.sha256(key.encode()).hexdigest()[:32]}"'
    read = partial(library.storage.get_bytes, key)
    return file_response(request, ServedFile(size, etag, {**kind, "Cache-Control": FOR_EVER}, read))


async def _changing(library: Library, key: str, headers: dict[str, str]) -> ServedFile:
    """A file of a public place: a small text, which another may replace while it is read, so it is read at once."""
    try:
        data = await library.storage.get_bytes(key)
    except StorageMissing:
        raise _no_such(key) from None

    async def read(start: int, length: int) -> bytes:
        return data[start : start + length]

    return ServedFile(len(data), f'"{hashlib.sha256(data).hexdigest()[:32]}"', headers, read)


async def _belongs(playback: Playback, video_id: int, key: str) -> bool:
    """Whether a file is one of this video: of its public place, or of one of its versions."""
    try:
        pieces = keys.checked(key).split("/")
    except InvalidRequest:
        return False
    match pieces:
        case [keys.VIDEOS, number, _, *_]:
            return number == str(video_id)
        case [keys.VERSIONS, number, _, *_] if number.isdecimal() and len(number) <= LONGEST_NUMBER:
            return await playback.is_version(int(number), video_id)
        case _:
            return False


def _no_such(key: str) -> NotFound:
    return NotFound("file", key[:200], hint="it is not there yet, or was removed; begin with the playlist of the video")
