"""Events: what happened, in pages; and what happens, as a live stream for whoever asks for `text/event-stream`."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Depends, Header, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from reelstate.api.auth import Reader
from reelstate.api.body import JsonRoute
from reelstate.api.context import OnEngine
from reelstate.api.jobs import JobId, paged, user_of
from reelstate.api.schemas import LARGEST_ID, After, EventDocument, Limit, PageDocument, StateDocument
from reelstate.api.stream import MEDIA_TYPE, Stream, StreamRequest, job_of
from reelstate.api.streams import InStreams, Streams
from reelstate.core.errors import InvalidRequest
from reelstate.core.machine import MACHINES
from reelstate.documents import Document, event_document, feed_document
from reelstate.feed.log import CursorGone, Entry, LogPage
from reelstate.services.feed import FeedItem
from reelstate.services.subscribe import BEGINNING, Subscription

router = APIRouter(prefix="/api/v1", tags=["events"], route_class=JsonRoute)
STATUSES: Final = sorted({state for machine in MACHINES.values() for state in machine.states})
STRETCHES: Final = 20
"""Looks at the record for one page."""
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
    204: {"description": "The job rests, and everything up to that was told before: nothing more will come"}
}


class EventMessage(EventDocument):
    kind: Literal["event"]


class StateMessage(StateDocument):
    kind: Literal["state"]
    cursor: str


class EventsDocument(BaseModel):
    """A page of what happened."""

    model_config = ConfigDict(json_schema_extra={"example": {"items": [], "after": "5f0c2a91d7e3.0.44", "more": False}})

    items: list[Annotated[EventMessage | StateMessage, Field(discriminator="kind")]]
    after: str = Field(description="Go on after this: always given, because more may come.")
    more: bool = Field(description="Whether there is more at once; a page may be empty though there is.")


async def wish_of(
    principal: Reader,
    job: Annotated[int | None, Query(ge=0, le=LARGEST_ID, description="Only what is of this job.")] = None,
    pipeline: Annotated[str | None, Query(max_length=255, description="Only jobs of this pipeline.")] = None,
    user_id: Annotated[str | None, Query(max_length=255, description="Only this user's jobs; for admins.")] = None,
    only: Annotated[
        list[str] | None, Query(description="Only some of job, stage, task, worker, finding, state.")
    ] = None,
    status: Annotated[list[str] | None, Query(description="Only changes to these.")] = None,
    progress: Annotated[
        bool | None, Query(description="In a stream, also how far running tasks are; on for one job, unless said.")
    ] = None,
    after: After = None,
    last_event_id: Annotated[
        str | None, Header(max_length=200, description="As `after`, and before it: what browsers send.")
    ] = None,
) -> StreamRequest:
    return StreamRequest(
        job_id=job,
        user_id=user_of(principal, user_id),
        pipeline=pipeline,
        only=only,
        statuses=_known(status),
        progress=progress,
        after=last_event_id or after,
        follow=True,
    )


Wished = Annotated[StreamRequest, Depends(wish_of)]


@router.get("/events", response_model=EventsDocument, responses=STREAMED)
async def events(
    request: Request, engine: OnEngine, streams: InStreams, principal: Reader, wish: Wished, limit: Limit = 100
) -> Document | Response:
    """What happens: live for `Accept: text/event-stream`, from now on or after a cursor; else in pages from the first.

    Users get what is of their jobs, admins everything. `after=0` is the beginning of what is kept.
    """
    if wants_stream(request):
        return Stream(streams, principal, wish)
    if wish.job_id is not None:
        await engine.graph(wish.job_id, owner=wish.user_id)
    return await _page(streams, wish, limit)


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
        str | None, Header(max_length=200, description="As `after`, and before it: what browsers send.")
    ] = None,
    only: Annotated[list[str] | None, Query(description="In a stream: only some of job, stage, task, state.")] = None,
    status: Annotated[list[str] | None, Query(description="In a stream: only changes to these.")] = None,
    progress: Annotated[bool, Query(description="In a stream: also how far running tasks are.")] = True,
    follow: Annotated[bool, Query(description="In a stream: go on when the job has come to rest.")] = False,
) -> Document | Response:
    """What happened to a job and all in it, the oldest first; live for `Accept: text/event-stream`.

    A stream begins with the job and ends when the job rests and everything was told. Who connects again is then
    answered 204, at which browsers stop.
    """
    if wants_stream(request):
        wish = StreamRequest(
            job_id=job_id,
            user_id=principal.owner,
            only=only,
            statuses=_known(status),
            progress=progress,
            after=last_event_id or after,
            follow=follow,
        )
        return Stream(streams, principal, wish)
    await engine.stage_names(job_id, owner=principal.owner)  # raises where there is no such job of theirs
    page = await engine.history(job_id, limit=limit, after=after, owner=principal.owner)
    return paged(page, [event_document(event) for event in page.items], request, response)


def wants_stream(request: Request) -> bool:
    return MEDIA_TYPE in request.headers.get("accept", "")


async def _page(streams: Streams, wish: StreamRequest, limit: int) -> Document:
    """The next of what is wanted. What is rare is looked for in so many stretches: then a page is empty, with more."""
    given = wish.after or BEGINNING
    after = streams.engine.feed.log.first() if given == BEGINNING else given
    items: list[Document] = []
    more, left = True, STRETCHES
    while more and left and not items:
        entries, after, more = await _stretch(streams, wish, after, limit)
        found = [await _document(streams, wish, entry) for entry in entries]
        items, left = [document for document in found if document is not None], left - 1
    return {"items": items, "after": after, "more": more}


async def _stretch(streams: Streams, wish: StreamRequest, after: str, limit: int) -> LogPage[FeedItem]:
    """A piece of the record, with what is wanted of it."""
    terms = Subscription(job_id=wish.job_id, user_id=wish.user_id, only=wish.only).options()
    try:
        read = await streams.engine.feed.log.read(after, limit, None if terms.topic is None else (terms.topic,))
    except CursorGone:
        raise InvalidRequest(
            "after", "what followed this cursor is not kept, or the database is another", hint="start again without it"
        ) from None
    wanted = [entry for entry in read.entries if terms.topic in (None, *entry.topics) and terms.wanted(entry.item)]
    return read._replace(entries=wanted)


async def _document(streams: Streams, wish: StreamRequest, entry: Entry[FeedItem]) -> Document | None:
    graph = await streams.graph(job_of(entry.item))
    if not wish.wants(entry.item, graph):
        return None
    return feed_document(entry.item, entry.cursor, tuple(graph.index) if graph else ())


def _known(statuses: list[str] | None) -> list[str] | None:
    for status in statuses or ():
        if status not in STATUSES:
            raise InvalidRequest("status", f"{status[:50]!r} is no status", hint=f"some of {', '.join(STATUSES)}")
    return statuses
