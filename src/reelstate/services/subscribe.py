"""subscribe: everything that happens, or what is of one job or one owner; replayed from a cursor, and then live."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Collection
from dataclasses import dataclass
from typing import Final

from reelstate.core.errors import InvalidRequest, NotFound
from reelstate.core.model import Event, TaskProgress
from reelstate.feed.feed import Feed
from reelstate.feed.log import CursorGone
from reelstate.feed.subscriber import FeedMessage, MessageKind, SubscriptionOptions
from reelstate.services.feed import FeedItem, Head, Owner, head_of
from reelstate.services.observe import OBSERVE_PIPELINE
from reelstate.stores.store import Store

BEGINNING: Final = "0"
"""The cursor before everything."""
EVENTS: Final = ("job", "stage", "task", "worker", "finding")
STATES: Final = "state"
ENTITIES: Final = (*EVENTS, STATES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """What somebody wants to be told."""

    job_id: int | None = None
    user_id: str | None = None
    """Only what is of this owner's jobs; "" stands for jobs without an owner."""
    only: Collection[str] | None = None
    """Of these alone: job, stage, task, worker, finding, state."""
    progress: bool | None = None
    """Whether to tell how far running tasks are; unless it is said, that is told of one job and not of many."""

    def __post_init__(self) -> None:
        for entity in self.only or ():
            if entity not in ENTITIES:
                raise InvalidRequest(
                    "only", f"{entity!r} is nothing to be told of", hint=f"some of {', '.join(ENTITIES)}"
                )

    def terms(self, *, settle: bool = False) -> SubscriptionOptions[FeedItem]:
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
    """What is after a cursor, then what happens. Without one: all of a job; of many jobs, what happens from now on."""
    head = await store.read(head_of)
    beginning = feed.log.first() if subscription.job_id is not None else head.cursor
    start, gone = _start(head, after, feed.log.first()) if after is not None else (beginning, False)
    if subscription.job_id is not None:
        await _require_job(store, subscription.job_id, subscription.user_id)
    if gone:
        start = beginning
        yield FeedMessage(MessageKind.RESET, start)
    terms = subscription.terms(settle=settle)
    async with contextlib.aclosing(feed.follow(start, terms, until=head.cursor)) as messages:
        async for message in messages:
            yield message


def _start(head: Head, after: str, first: str) -> tuple[str, bool]:
    """The cursor to begin after, and whether what followed it is gone."""
    if after == BEGINNING:
        return first, False
    try:
        head.find(after)
    except CursorGone:
        return after, True
    return after, False


async def _require_job(store: Store, job_id: int, user_id: str | None) -> None:
    if not await store.read(lambda transaction: transaction.run(OBSERVE_PIPELINE, job_id=job_id, owner=user_id)):
        raise NotFound("job", job_id)
