"""play: who may have the files of a video. A ticket stands in an address, for players that send nothing else of ours.

Players ask for every segment, so what was answered is believed for a few seconds; which job is a version of which video
never changes.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Generic, TypeVar

from reelstate.core.errors import InvalidRequest, NotFound
from reelstate.stores.store import Row, Store, Transaction

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)
BELIEVED: Final = 4.0
"""Seconds: as long as a key is."""
REMEMBERED: Final = 10_000
LIFETIME: Final = 6 * 3600.0
LONGEST_LIFETIME: Final = 7 * 86_400.0


@dataclass(frozen=True, slots=True)
class Ticket:
    """A new ticket; nobody can say its text a second time."""

    text: str
    expires_at: datetime


class TicketCache(Generic[K, T]):
    """Answers that are believed for a while."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._answers: OrderedDict[K, tuple[float, T]] = OrderedDict()

    async def get(self, question: K, ask: Callable[[], Awaitable[T]]) -> T:
        asked = time.monotonic()
        until, answer = self._answers.get(question, (0.0, None))
        if answer is not None and asked < until:
            return answer
        fresh = await ask()
        self._answers[question] = (asked + self._seconds, fresh)
        self._answers.move_to_end(question)
        if len(self._answers) > REMEMBERED:
            self._answers.popitem(last=False)
        return fresh


class Playback:
    """What may be played, of one store. With an owner, there are no videos but theirs."""

    def __init__(self, store: Store, *, believed: float = BELIEVED) -> None:
        self._store = store
        self._tickets: TicketCache[str, list[Row]] = TicketCache(believed)
        self._videos: TicketCache[tuple[int, str | None], list[Row]] = TicketCache(believed)
        self._versions: TicketCache[int, list[Row]] = TicketCache(believed)

    async def open(self, video_id: int, *, key_id: str, owner: str | None, lifetime: float = LIFETIME) -> Ticket:
        """A ticket for the files of a video. It ends after its time, with the key, and with the video."""
        if not 1 <= lifetime <= LONGEST_LIFETIME:
            raise InvalidRequest("lifetime", f"{lifetime:g} s can't be", hint=f"1 to {LONGEST_LIFETIME:.0f} seconds")
        text = secrets.token_urlsafe(32)

        async def flow(transaction: Transaction) -> list[Row]:
            await transaction.run("play_prune")
            return await transaction.run(
                "play_open",
                digest=_digest(text),
                video_id=video_id,
                key_id=key_id,
                owner=owner,
                lifetime=float(lifetime),
            )

        found = await self._store.write(flow)
        if not found:
            raise NotFound("video", video_id)
        return Ticket(text, found[0][0])

    async def admitted(self, text: str) -> int:
        """The video that a ticket is for."""
        digest = _digest(text)
        found = await self._tickets.get(digest, lambda: self._ask("play_ticket", digest=digest))
        if not found:
            raise NotFound("ticket", "like this", hint="it was for a while only: ask for a new one")
        return int(found[0][0])

    async def require_video(self, video_id: int, *, owner: str | None) -> None:
        found = await self._videos.get(
            (video_id, owner), lambda: self._ask("play_video", video_id=video_id, owner=owner)
        )
        if not found:
            raise NotFound("video", video_id)

    async def is_version(self, job_id: int, video_id: int) -> bool:
        """Whether a job is a version of a video."""
        found = await self._versions.get(job_id, lambda: self._ask("videos_of", job_ids=[job_id]))
        return [video_id] == [row[1] for row in found]

    async def _ask(self, statement: str, **parameters: Any) -> list[Row]:
        async def flow(transaction: Transaction) -> list[Row]:
            return await transaction.run(statement, **parameters)

        return await self._store.read(flow)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
