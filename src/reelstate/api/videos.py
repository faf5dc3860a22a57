"""Videos: create them from a URL or an upload, list, retranscode, roll back and delete them."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import APIRouter, Path, Query, Request, Response

from reelstate.api.auth import Principal, Reader, Writer
from reelstate.api.body import JsonRoute, stream_body
from reelstate.api.context import OnEngine
from reelstate.api.digests import ContentDigest, sha256_in
from reelstate.api.errors import problems
from reelstate.api.jobs import IdempotencyKey, paged, user_of
from reelstate.api.library import InLibrary, Library
from reelstate.api.operations import IfMatch, version_in
from reelstate.api.schemas import LARGEST_ID, After, Limit, PageDocument
from reelstate.api.sources import require_source
from reelstate.api.video_documents import (
    ChangedDocument,
    MadeDocument,
    NewVideoRequest,
    PinRequest,
    Priority,
    ReasonRequest,
    RetranscodeRequest,
    RollbackRequest,
    VideoDetailDocument,
    VideoDocument,
)
from reelstate.artifacts import keys
from reelstate.core.errors import InvalidRequest, ScopeMissing
from reelstate.core.model import (
    Submitted,
    Verdict,
)
from reelstate.documents import Document
from reelstate.engine import Engine
from reelstate.library.documents import quality_document, version_document, video_document
from reelstate.library.ladder import latest_profile, read_qualities, shown_version
from reelstate.library.model import Video, VideoDetail, VideoStatus, VideoVersion
from reelstate.media.packaging.manifest import MASTER
from reelstate.media.planning.request import TranscodeRequest
from reelstate.media.sources.address import STORED
from reelstate.media.sources.errors import UnusableSource

PREFIX: Final = "/api/v1/videos"
router = APIRouter(prefix=PREFIX, tags=["videos"], route_class=JsonRoute)
VideoId = Annotated[int, Path(ge=0, le=LARGEST_ID, description="The video's id.")]
MADE: Final[dict[int | str, dict[str, Any]]] = {
    200: {"model": MadeDocument, "description": "It was created before, under the same key"}
}


@router.post(
    "",
    status_code=201,
    response_model=MadeDocument,
    responses={**MADE, **problems(404, 409, 507)},
)
async def create(
    library: InLibrary,
    principal: Writer,
    body: NewVideoRequest,
    response: Response,
    idempotency_key: IdempotencyKey = None,
) -> Document:
    """Create a video from an address or an upload, and start its transcode."""
    if (body.source is None) == (body.upload is None):
        raise InvalidRequest("source", "needs either `source` or `upload`", hint="send one of the two")
    user_id = _owner_of(principal, body.user_id)
    source, name = body.source or "", ""
    if body.upload is not None:
        found = await library.receiver.find(body.upload, owner=principal.owner)
        found = await library.receiver.finish(found)
        source, name = f"{STORED}{found.sha256}", found.name
    else:
        require_source(principal, library.settings, source)
    spec = _spec(source, profile=body.profile, qualities=body.qualities, captions=body.captions)
    answer = await library.videos.submit(
        source,
        title=body.title or name,
        spec=spec,
        digest=body.digest,
        priority=body.priority,
        delay=body.delay,
        user_id=user_id,
        callback=body.callback,
        idempotency_key=idempotency_key,
    )
    return _made(answer, response)


@router.post(
    "/upload",
    status_code=201,
    response_model=MadeDocument,
    responses={**MADE, **problems(408, 409, 413, 507)},
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
        }
    },
)
async def create_from_body(
    request: Request,
    library: InLibrary,
    principal: Writer,
    response: Response,
    title: Annotated[str, Query(max_length=1000)] = "",
    profile: Annotated[str | None, Query(max_length=100, description="By name.")] = None,
    priority: Annotated[Priority, Query()] = 5,
    content_digest: ContentDigest = None,
    idempotency_key: IdempotencyKey = None,
) -> Document:
    """Create a video from the request body. Send large files to `/uploads` instead."""
    announced = sha256_in("content-digest", content_digest)
    spec = _spec(f"{STORED}{'0' * 64}", profile=profile, captions=None)
    length = request.headers.get("content-length", "")
    upload = await library.receiver.create(
        user_id=principal.user_id, length=int(length) if length.isdecimal() else None, digest=announced
    )
    try:
        received = await library.receiver.receive(upload, stream_body(request, principal.key_id), digest=announced)
        whole = await library.receiver.finish(received)
        answer = await library.videos.submit(
            f"{STORED}{whole.sha256}",
            title=title,
            spec=spec,
            priority=priority,
            user_id=principal.user_id,
            idempotency_key=idempotency_key,
        )
    finally:
        await library.receiver.remove(upload.id)
    return _made(answer, response)


@router.get("", response_model=PageDocument[VideoDocument])
async def videos(
    library: InLibrary,
    principal: Reader,
    request: Request,
    response: Response,
    status: Annotated[list[VideoStatus] | None, Query(description="Only these.")] = None,
    user_id: Annotated[str | None, Query(max_length=255, description="Only this user's; for admins.")] = None,
    deleted: Annotated[bool, Query(description="Include deleted videos.")] = False,
    limit: Limit = 50,
    after: After = None,
) -> Document:
    """List videos, newest first."""
    user = user_of(principal, user_id)
    page = await library.videos.list(statuses=status, user_id=user, deleted=deleted, limit=limit, after=after)
    return paged(page, [video_document(video) for video in page.items], request, response)


@router.get("/{video_id}", response_model=VideoDetailDocument)
async def video(
    engine: OnEngine, library: InLibrary, principal: Reader, video_id: VideoId, response: Response
) -> Document:
    """Get a video with its qualities, versions and playback address. Its version is the ETag."""
    detail = await library.videos.get(video_id, owner=principal.owner)
    response.headers["ETag"] = f'"{detail.video.version}"'
    return {
        **video_document(detail.video),
        "plays": _plays(detail.video),
        "viewable": await _is_viewable(library, detail.video),
        "versions": [_version(each, video_id) for each in detail.versions],
        **await _load_progress(engine, detail),
    }


@router.post(
    "/{video_id}/retranscode",
    status_code=201,
    response_model=MadeDocument,
    responses=MADE,
)
async def retranscode(
    library: InLibrary,
    principal: Writer,
    video_id: VideoId,
    response: Response,
    body: RetranscodeRequest | None = None,
    idempotency_key: IdempotencyKey = None,
) -> Document:
    """Create a new version of a video. The old one plays until the new one is complete, and can be rolled back to."""
    body = body or RetranscodeRequest()
    detail = await library.videos.get(video_id, owner=principal.owner)
    wanted = {"qualities": body.qualities, "captions": body.captions, "profile": body.profile}
    spec = {name: value for name, value in wanted.items() if value is not None}
    _spec(detail.video.source, **{"profile": latest_profile(detail), **spec})
    answer = await library.videos.retranscode(
        video_id,
        spec=spec,
        priority=body.priority,
        user_id=detail.video.user_id,  # a version has the owner of its video
        callback=body.callback,
        idempotency_key=idempotency_key,
    )
    return _made(answer, response)


@router.post("/{video_id}/pin", response_model=ChangedDocument, responses=problems(409, 412))
async def pin(
    library: InLibrary, principal: Writer, video_id: VideoId, body: PinRequest, if_match: IfMatch = None
) -> Document:
    """Pin a video to one completed version."""
    verdict = await library.videos.pin(video_id, body.job, **_options(principal, body, if_match))
    return {"id": video_id, "job": body.job, "verdict": verdict}


@router.post("/{video_id}/unpin", response_model=ChangedDocument, responses=problems(409, 412))
async def unpin(
    library: InLibrary,
    principal: Writer,
    video_id: VideoId,
    body: ReasonRequest | None = None,
    if_match: IfMatch = None,
) -> Document:
    """Unpin a video. Its newest completed version plays again."""
    verdict = await library.videos.unpin(video_id, **_options(principal, body, if_match))
    current = (await library.videos.get(video_id, owner=principal.owner)).video.current
    return {"id": video_id, "job": current, "verdict": verdict}


@router.post(
    "/{video_id}/rollback",
    response_model=ChangedDocument,
    responses=problems(409, 412),
)
async def rollback(
    library: InLibrary,
    principal: Writer,
    video_id: VideoId,
    body: RollbackRequest | None = None,
    if_match: IfMatch = None,
) -> Document:
    """Roll a video back to an earlier version and pin it."""
    options = _options(principal, body, if_match)
    if body is not None and body.to is not None:
        return {"id": video_id, "job": body.to, "verdict": await library.videos.pin(video_id, body.to, **options)}
    return {"id": video_id, "job": await library.videos.rollback(video_id, **options), "verdict": Verdict.OK}


@router.delete("/{video_id}", status_code=204, responses=problems(412))
async def delete(
    library: InLibrary,
    principal: Writer,
    video_id: VideoId,
    reason: Annotated[str | None, Query(max_length=1000, description="The reason; stored with the video.")] = None,
    if_match: IfMatch = None,
) -> Response:
    """Delete a video and cancel its jobs. Its files are kept as long as superseded versions are."""
    await library.videos.delete(video_id, **_options(principal, ReasonRequest(reason=reason), if_match))
    return Response(status_code=204)


@router.post("/{video_id}/restore", response_model=ChangedDocument, responses=problems(412))
async def restore(
    library: InLibrary,
    principal: Writer,
    video_id: VideoId,
    body: ReasonRequest | None = None,
    if_match: IfMatch = None,
) -> Document:
    """Undo the deletion of a video while files of a version of it are kept; its cancelled jobs stay cancelled."""
    options = _options(principal, body, if_match)
    verdict = await library.videos.restore(video_id, **options)
    return {"id": video_id, "job": (await library.videos.get(video_id)).video.current, "verdict": verdict}


def _owner_of(principal: Principal, wanted: str | None) -> str:
    if wanted not in (None, principal.user_id) and not principal.admin:
        raise ScopeMissing("only an admin may create videos for another user", hint="omit user_id")
    return principal.user_id if wanted is None else wanted


def _options(principal: Principal, body: ReasonRequest | None, if_match: str | None) -> dict[str, Any]:
    return {
        "actor": principal.actor,
        "owner": principal.owner,
        "reason": body.reason if body else None,
        "version": version_in(if_match),
    }


def _spec(source: str, **given: Any) -> dict[str, Any]:
    """Return the spec of a version without empty fields; raise for one that a worker would refuse."""
    spec = {name: value for name, value in given.items() if value is not None}
    try:
        TranscodeRequest.from_spec({"source": source, **spec})
    except UnusableSource as error:
        raise InvalidRequest("source", error.message, hint=error.hint) from error
    return spec


def _made(answer: Submitted, response: Response) -> Document:
    if answer.verdict is Verdict.REPEATED:
        response.status_code = 200
    response.headers["Location"] = f"{PREFIX}/{answer.resource_id}"
    return {"id": answer.resource_id, "job": answer.job_id, "verdict": answer.verdict}


def _plays(video: Video) -> str | None:
    """Return the path of a video's playlist; a first version plays while it is in progress."""
    unwatchable = video.deleted_at is not None or (video.current is None and video.status is not VideoStatus.PROCESSING)
    return None if unwatchable else file_path(video.id, keys.video(video.id, MASTER))


async def _is_viewable(library: Library, video: Video) -> bool:
    """Return whether the playlist can be read: that of a version in progress appears with its first segments."""
    if video.current is not None or _plays(video) is None:
        return _plays(video) is not None
    return await library.storage.size(keys.video(video.id, MASTER)) is not None


def _version(version: VideoVersion, video_id: int) -> Document:
    published = version.outputs.get("publish")
    master = published.get("master") if isinstance(published, dict) and version.removed_at is None else None
    plays = file_path(video_id, master) if master else None
    return {**version_document(version), "plays": plays}


def file_path(video_id: int, key: str) -> str:
    """Return the path of a file of a video."""
    return f"{PREFIX}/{video_id}/files/{key}"


async def _load_progress(engine: Engine, detail: VideoDetail) -> Document:
    version = shown_version(detail)
    if version is None:
        return {"progress": None, "qualities": []}
    job = await engine.job(version.job.id)
    found = await read_qualities(engine, job)
    return {"progress": round(job.progress, 2), "qualities": [quality_document(each) for each in found]}
