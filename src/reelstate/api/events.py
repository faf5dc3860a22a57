"""Events in pages, or as a live stream for clients that accept `text/event-stream`."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Depends, Header, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from reelstate.api.auth import Reader
from reelstate.api.body import JsonRoute
from reelstate.api.context import OnEngine
from reelstate.api.errors import problems
from reelstate.api.jobs import JobId, paged, user_of
from reelstate.api.schemas import LARGEST_ID, After, EventDocument, Limit, PageDocument, StateDocument
from reelstate.api.stream import MEDIA_TYPE, Stream, StreamRequest, job_of
from reelstate.api.streams import InStreams, Streams
from reelstate.core.errors import CursorExpired, InvalidRequest
from reelstate.core.machine import MACHINES
from reelstate.documents import Document, event_document, feed_document
from reelstate.feed.log import CursorGone, Entry, LogPage
from reelstate.services.feed import FeedItem
from reelstate.services.subscribe import BEGINNING, Subscription

router = APIRouter(prefix="/api/v1", tags=["events"], route_class=JsonRoute)
STATUSES: Final = sorted({state for machine in MACHINES.values() for state in machine.states})
MAX_READS: Final = 20
"""Reads of the log for one page."""
EXAMPLE: Final = (
    "retry: 2000\n\n"
    "id: 5f0c2a91d7e3.0.41\nevent: event\n"
    'data: {"kind":"event","entity":"job","id":244813922304,"version":2,"from":"pending","to":"processing", …}\n\n'
    "event: progress\n"
    'data: {"kind":"progress","id":"244813922304/encode/3","percent":40.0, …}\n\n'
    'id: 5f0c2a91d7e3.0.44\nevent: replay_complete\ndata: {"cursor":"5f0c2a91d7e3.0.44"}\n\n'
)
STREAMED: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "A page of events; for `Accept: text/event-stream`, a live stream. Its events are named event, "
        "state, progress, replay_complete, bookmark, stale, fresh, reset and overflow; the id of each is a cursor.",
        "content": {MEDIA_TYPE: {"schema": {"type": "string"}, "example": EXAMPLE}},
    }
}
OVER: Final[dict[int | str, dict[str, Any]]] = {
    204: {"description": "The job is inactive and the client has every event: nothing more will come"}
}


class EventMessage(EventDocument):
    kind: Literal["event"]


class StateMessage(StateDocument):
    kind: Literal["state"]
    cursor: str


class EventsDocument(BaseModel):
    """A page of events."""

    model_config = ConfigDict(json_schema_extra={"example": {"items": [], "after": "5f0c2a91d7e3.0.44", "more": False}})

    items: list[Annotated[EventMessage | StateMessage, Field(discriminator="kind")]]
    after: str = Field(description="The cursor for the next request; always present, because more may come.")
    more: bool = Field(description="Whether more is available now; a page may be empty even so.")


async def stream_request(
    principal: Reader,
    job: Annotated[int | None, Query(ge=0, le=LARGEST_ID, description="Only events of this job.")] = None,
    pipeline: Annotated[str | None, Query(max_length=255, description="Only jobs of this pipeline.")] = None,
    user_id: Annotated[str | None, Query(max_length=255, description="Only this user's jobs; for admins.")] = None,
    only: Annotated[
        list[str] | None, Query(description="Only some of job, stage, task, worker, finding, state.")
    ] = None,
    status: Annotated[list[str] | None, Query(description="Only changes to these.")] = None,
    progress: Annotated[
        bool | None, Query(description="In a stream, also progress of running tasks; the default for one job.")
    ] = None,
    bookmarks: Annotated[
        bool, Query(description="In a stream: send a bookmark whenever the client has every event so far.")
    ] = False,
    after: After = None,
    last_event_id: Annotated[
        str | None,
        Header(max_length=200, description="Like `after`, which it overrides; browsers send it."),
    ] = None,
) -> StreamRequest:
    return StreamRequest(
        job_id=job,
        user_id=user_of(principal, user_id),
        pipeline=pipeline,
        only=only,
        statuses=_checked_statuses(status),
        progress=progress,
        after=last_event_id or after,
        follow=True,
        bookmarks=bookmarks,
    )


RequestedStream = Annotated[StreamRequest, Depends(stream_request)]


@router.get("/events", response_model=EventsDocument, responses={**STREAMED, **problems(404, 410)})
async def events(
    request: Request,
    engine: OnEngine,
    streams: InStreams,
    principal: Reader,
    requested: RequestedStream,
    limit: Limit = 100,
) -> Document | Response:
    """List events, or stream them. `Accept: text/event-stream` streams live from now or after a cursor; else pages.

    Users get the events of their jobs, admins all events. `after=0` is the start of what is kept.
    """
    if wants_stream(request):
        return Stream(streams, principal, requested)
    if requested.job_id is not None:
        await engine.graph(requested.job_id, owner=requested.user_id)
    return await _page(streams, requested, limit)


@router.get("/jobs/{job_id}/events", response_model=PageDocument[EventDocument], responses={**STREAMED, **OVER})
async def job_events(
    engine: OnEngine,
    streams: InStreams,
    principal: Reader,
    job_id: JobId,
    request: Request,
    response: Response,
    limit: Limit = 100,
    after: After = None,
    last_event_id: Annotated[
        str | None,
        Header(max_length=200, description="Like `after`, which it overrides; browsers send it."),
    ] = None,
    only: Annotated[list[str] | None, Query(description="In a stream: only some of job, stage, task, state.")] = None,
    status: Annotated[list[str] | None, Query(description="In a stream: only changes to these.")] = None,
    progress: Annotated[bool, Query(description="In a stream: also progress of running tasks.")] = True,
    follow: Annotated[bool, Query(description="In a stream: continue when the job has become inactive.")] = False,
) -> Document | Response:
    """List the events of a job, or stream them. Oldest first; `Accept: text/event-stream` streams live.

    A stream starts with the job and ends when the job is inactive and every event was sent. A client that reconnects
    then gets 204, at which browsers stop.
    """
    if wants_stream(request):
        requested = StreamRequest(
            job_id=job_id,
            user_id=principal.owner,
            only=only,
            statuses=_checked_statuses(status),
            progress=progress,
            after=last_event_id or after,
            follow=follow,
        )
        return Stream(streams, principal, requested)
    await engine.stage_names(job_id, owner=principal.owner)  # raises NotFound for a job of another user
    page = await engine.history(job_id, limit=limit, after=after, owner=principal.owner)
    return paged(page, [event_document(event) for event in page.items], request, response)


def wants_stream(request: Request) -> bool:
    return MEDIA_TYPE in request.headers.get("accept", "")


async def _page(streams: Streams, requested: StreamRequest, limit: int) -> Document:
    """Return the next page. A rare match is searched in a bounded number of reads; the page may then be empty."""
    given = requested.after or BEGINNING
    after = streams.engine.feed.log.first() if given == BEGINNING else given
    items: list[Document] = []
    more, left = True, MAX_READS
    while more and left and not items:
        entries, after, more = await _read_matching(streams, requested, after, limit)
        found = [await _document(streams, requested, entry) for entry in entries]
        items, left = [document for document in found if document is not None], left - 1
    return {"items": items, "after": after, "more": more}


async def _read_matching(streams: Streams, requested: StreamRequest, after: str, limit: int) -> LogPage[FeedItem]:
    """Read a part of the log and keep the entries that match."""
    terms = Subscription(job_id=requested.job_id, user_id=requested.user_id, only=requested.only).options()
    try:
        read = await streams.engine.feed.log.read(after, limit, None if terms.topic is None else (terms.topic,))
    except CursorGone as gone:
        raise CursorExpired(after, gone.resume) from None
    wanted = [entry for entry in read.entries if terms.topic in (None, *entry.topics) and terms.wanted(entry.item)]
    return read._replace(entries=wanted)


async def _document(streams: Streams, requested: StreamRequest, entry: Entry[FeedItem]) -> Document | None:
    graph = await streams.graph(job_of(entry.item))
    if not requested.wants(entry.item, graph):
        return None
    return feed_document(entry.item, entry.cursor, tuple(graph.index) if graph else ())


def _checked_statuses(statuses: list[str] | None) -> list[str] | None:
    for status in statuses or ():
        if status not in STATUSES:
            raise InvalidRequest(
                "status", f"unknown status {status[:50]!r}", hint=f"expected some of {', '.join(STATUSES)}"
            )
    return statuses
