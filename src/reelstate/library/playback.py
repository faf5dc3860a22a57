"""Playback: who may read the files of a video. A ticket is part of a URL, for players that send no key.

Players request every segment, so answers are cached for a few seconds. Which job is a version of which video never
changes.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Generic, NamedTuple, TypeVar

from reelstate.core.errors import InvalidRequest, NotFound
from reelstate.library.videos import IdRow
from reelstate.services.submit import SUBMIT_RESOURCES, ResourceRow
from reelstate.stores.store import NoRow, Row, Statement, Store, Transaction

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")
R = TypeVar("R", bound=Row)
CACHE_SECONDS: Final = 4.0
"""As long as a key is cached."""
MAX_CACHED: Final = 10_000
LIFETIME: Final = 6 * 3600.0
MAX_LIFETIME: Final = 7 * 86_400.0


class TicketRow(NamedTuple):
    """The video that a ticket is for."""

    video_id: int


class ExpiryRow(NamedTuple):
    """When a new ticket expires."""

    expires_at: datetime


OPEN = Statement("play_open", ExpiryRow)
PRUNE = Statement("play_prune", NoRow)
TICKET = Statement("play_ticket", TicketRow)
VIDEO = Statement("play_video", IdRow)


@dataclass(frozen=True, slots=True)
class Ticket:
    """A new ticket; its text is not stored and cannot be read again."""

    text: str
    expires_at: datetime


class TicketCache(Generic[K, T]):
    """Cache the answers of the store for some seconds."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._answers: OrderedDict[K, tuple[float, T]] = OrderedDict()

    async def get(self, key: K, load: Callable[[], Awaitable[T]]) -> T:
        """Return the cached answer, or load and cache it."""
        now = time.monotonic()
        until, answer = self._answers.get(key, (0.0, None))
        if answer is not None and now < until:
            return answer
        loaded = await load()
        self._answers[key] = (now + self._seconds, loaded)
        self._answers.move_to_end(key)
        if len(self._answers) > MAX_CACHED:
            self._answers.popitem(last=False)
        return loaded


class Playback:
    """Create and check tickets. With an owner, videos of other users are not found."""

    def __init__(self, store: Store, *, cache_seconds: float = CACHE_SECONDS) -> None:
        self._store = store
        self._tickets: TicketCache[str, list[TicketRow]] = TicketCache(cache_seconds)
        self._videos: TicketCache[tuple[int, str | None], list[IdRow]] = TicketCache(cache_seconds)
        self._versions: TicketCache[int, list[ResourceRow]] = TicketCache(cache_seconds)

    async def open(self, video_id: int, *, key_id: str, owner: str | None, lifetime: float = LIFETIME) -> Ticket:
        """Create a ticket for the files of a video; it ends with its lifetime, its key or the video."""
        if not 1 <= lifetime <= MAX_LIFETIME:
            raise InvalidRequest(
                "lifetime", f"invalid value {lifetime:g}", hint=f"from 1 to {MAX_LIFETIME:.0f} seconds"
            )
        text = secrets.token_urlsafe(32)

        async def flow(transaction: Transaction) -> list[ExpiryRow]:
            await transaction.run(PRUNE)
            return await transaction.run(
                OPEN,
                digest=_digest(text),
                video_id=video_id,
                key_id=key_id,
                owner=owner,
                lifetime=float(lifetime),
            )

        found = await self._store.write(flow)
        if not found:
            raise NotFound("video", video_id)
        return Ticket(text, found[0].expires_at)

    async def ticket_video(self, text: str) -> int:
        """Return the video that a ticket is for; raise `NotFound` for an unknown or expired ticket."""
        digest = _digest(text)
        found = await self._tickets.get(digest, lambda: self._read(TICKET, digest=digest))
        if not found:
            raise NotFound("ticket", "like this", hint="it may have expired: request a new one")
        return found[0].video_id

    async def require_video(self, video_id: int, *, owner: str | None) -> None:
        """Raise `NotFound` unless the video exists."""
        found = await self._videos.get((video_id, owner), lambda: self._read(VIDEO, video_id=video_id, owner=owner))
        if not found:
            raise NotFound("video", video_id)

    async def is_version(self, job_id: int, video_id: int) -> bool:
        """Return whether a job is a version of a video."""
        found = await self._versions.get(job_id, lambda: self._read(SUBMIT_RESOURCES, job_ids=[job_id]))
        return [video_id] == [row.resource_id for row in found]

    async def _read(self, statement: Statement[R], **parameters: Any) -> list[R]:
        return await self._store.read(lambda transaction: transaction.run(statement, **parameters))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
