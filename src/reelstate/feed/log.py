"""What a feed reads: an ordered log, and beside it values that are only ever worth as much as the newest of them."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

Item = TypeVar("Item")
Order = tuple[int, ...]
"""Where a cursor stands: of two, the larger is later."""
Topics = Collection[Hashable] | None
"""Whom entries are for; None stands for everybody."""


class Entry(NamedTuple, Generic[Item]):
    """One item of a log, the cursor after it, and the topics whose subscribers it is for, beside those of all."""

    cursor: str
    item: Item
    topics: tuple[Hashable, ...] = ()


class Stretch(NamedTuple, Generic[Item]):
    """A piece of a log: its entries in order, the cursor up to which it is complete, and whether there is more."""

    entries: Sequence[Entry[Item]]
    reached: str
    more: bool


def stretch(entries: Sequence[Entry[Item]], after: str, limit: int) -> Stretch[Item]:
    """What was found after a cursor, where nothing is known of what lies behind the last entry."""
    return Stretch(entries, entries[-1].cursor if entries else after, len(entries) == limit)


class CursorGone(Exception):
    """What followed a cursor is deleted, or the log is another one: the subscriber must read its state again.

    `resume` is the cursor from which on the log is complete; without one, only the head of the log is.
    """

    def __init__(self, cursor: str, resume: str | None = None) -> None:
        super().__init__(cursor)
        self.resume = resume


class Log(Protocol[Item]):
    """An ordered log. What has been read up to a cursor stays as it was: nothing ever appears before one."""

    def first(self) -> str:
        """The cursor before everything."""
        ...

    async def head(self) -> str:
        """The cursor after everything that there is by now."""
        ...

    async def read(self, after: str, limit: int, topics: Topics = None) -> Stretch[Item]:
        """What comes after a cursor, in order: all of it, or at least what is of these topics."""
        ...

    def order(self, cursor: str) -> Order: ...

    async def wait(self, seconds: float) -> bool:
        """Until there may be something new (then true), or the time is over."""
        ...

    def begin(self) -> None:
        """From now on somebody waits for what is new."""
        ...

    def rest(self) -> None:
        """Nobody does any more."""
        ...


class Values(Protocol[Item]):
    """What changes all the time and is in no log, as the progress of tasks is."""

    async def read(self, topics: Topics, *, anew: bool) -> Sequence[Entry[Item]]:
        """The values of these topics: all of them, or at least those that changed since the last time."""
        ...

    def key(self, item: Item) -> Hashable:
        """What a value is a value of."""
        ...

    def ended(self, item: Item) -> Hashable | None:
        """The key whose values an item of the log makes worthless."""
        ...
