"""subscribe: events and states of everything, one job or one owner; replayed from a cursor, then live."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Collection
from dataclasses import dataclass
from typing import Final

from reelstate.core.errors import InvalidRequest, JobArchived, NotFound
from reelstate.core.model import Event, TaskProgress
from reelstate.feed.feed import Feed
from reelstate.feed.log import CursorGone
from reelstate.feed.subscriber import FeedMessage, MessageKind, SubscriptionOptions
from reelstate.services.archive import OBSERVE_PIPELINE, read_job
from reelstate.services.feed import FeedItem, Head, Owner, head_of
from reelstate.stores.store import Store, Transaction

BEGINNING: Final = "0"
"""The cursor before the first event."""
EVENTS: Final = ("job", "stage", "task", "worker", "finding")
STATES: Final = "state"
ENTITIES: Final = (*EVENTS, STATES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """What a client subscribes to."""

    job_id: int | None = None
    user_id: str | None = None
    """Only jobs of this owner; "" for jobs without an owner."""
    only: Collection[str] | None = None
    """Only these kinds: job, stage, task, worker, finding, state."""
    progress: bool | None = None
    """Whether to send the progress of running tasks; by default only for one job."""

    def __post_init__(self) -> None:
        for entity in self.only or ():
            if entity not in ENTITIES:
                raise InvalidRequest("only", f"unknown kind {entity!r}", hint=f"some of {', '.join(ENTITIES)}")

    def options(self, *, settle: bool = False) -> SubscriptionOptions[FeedItem]:
        progress = self.job_id is not None if self.progress is None else self.progress
        return SubscriptionOptions(topic=self._topic, wanted=self._wants, values=progress, settle=settle)

    @property
    def _topic(self) -> int | Owner | None:
        if self.job_id is not None:
            return self.job_id
        return None if self.user_id is None else Owner(self.user_id)

    def _wants(self, item: FeedItem) -> bool:
        if self.only is None or isinstance(item, TaskProgress):
            return True
        return (item.entity if isinstance(item, Event) else STATES) in self.only


async def subscribe(
    feed: Feed[FeedItem], store: Store, subscription: Subscription, after: str | None = None, *, settle: bool = False
) -> AsyncGenerator[FeedMessage[FeedItem], None]:
    """Yield what follows a cursor, then new items.

    Without a cursor: everything of one job, or for many jobs only new items. Raise `NotFound` for an unknown job, and
    `JobArchived` for one of which nothing new can come.
    """
    head = await store.read(head_of)
    beginning = feed.log.first() if subscription.job_id is not None else head.cursor
    start, gone = _start(head, after, feed.log.first()) if after is not None else (beginning, False)
    if subscription.job_id is not None:
        await _require_job(store, subscription.job_id, subscription.user_id)
    if gone:
        start = beginning
        yield FeedMessage(MessageKind.RESET, start)
    options = subscription.options(settle=settle)
    async with contextlib.aclosing(feed.follow(start, options, until=head.cursor)) as messages:
        async for message in messages:
            yield message


def _start(head: Head, after: str, first: str) -> tuple[str, bool]:
    """Return the cursor to start after, and whether items after it were deleted."""
    if after == BEGINNING:
        return first, False
    try:
        head.find(after)
    except CursorGone:
        return after, True
    return after, False


async def _require_job(store: Store, job_id: int, user_id: str | None) -> None:
    async def flow(transaction: Transaction) -> None:
        if not await transaction.run(OBSERVE_PIPELINE, job_id=job_id, owner=user_id):
            raise NotFound("job", job_id)

    def refuse(_: None) -> None:
        raise JobArchived(job_id)

    await read_job(store, job_id, flow, refuse)
