"""What a feed reads: an ordered log, and values of which only the newest matters."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

Item = TypeVar("Item")
Order = tuple[int, ...]
"""The position of a cursor; a larger one is later."""
Topics = Collection[Hashable] | None
"""What subscribers follow; None for everything."""


class Entry(NamedTuple, Generic[Item]):
    """One item of a log, the cursor after it, and its topics."""

    cursor: str
    item: Item
    topics: tuple[Hashable, ...] = ()


class LogPage(NamedTuple, Generic[Item]):
    """Entries in order, the cursor up to which they are complete, and whether there may be more."""

    entries: Sequence[Entry[Item]]
    reached: str
    more: bool


def page_after(entries: Sequence[Entry[Item]], after: str, limit: int) -> LogPage[Item]:
    """Return a page that is complete up to its last entry; a full page may have more after it."""
    return LogPage(entries, entries[-1].cursor if entries else after, len(entries) == limit)


class CursorGone(Exception):
    """Entries after a cursor were deleted, or the cursor is of another log: the subscriber must read its state again.

    `resume` is the cursor after which the log is complete; None for the head.
    """

    def __init__(self, cursor: str, resume: str | None = None) -> None:
        super().__init__(cursor)
        self.resume = resume


class Log(Protocol[Item]):
    """An ordered log. No entry ever appears before a cursor that was returned."""

    def first(self) -> str:
        """Return the cursor before the first entry."""
        ...

    async def head(self) -> str:
        """Return the cursor after the last entry."""
        ...

    async def read(self, after: str, limit: int, topics: Topics = None) -> LogPage[Item]:
        """Return the entries after a cursor, in order: all of them, or at least those of these topics.

        Raise `CursorGone` where entries after the cursor were deleted.
        """
        ...

    def order(self, cursor: str) -> Order:
        """Return the position of a cursor."""
        ...

    async def wait(self, seconds: float) -> bool:
        """Wait until there may be new entries; return False when the time is over first."""
        ...

    def start_listening(self) -> None:
        """Prepare for `wait`: the feed has a subscriber."""
        ...

    def stop_listening(self) -> None:
        """Release what `start_listening` took: the feed has no subscriber."""
        ...


class Values(Protocol[Item]):
    """Values that change too often for a log, such as the progress of tasks."""

    async def read(self, topics: Topics, *, full: bool) -> Sequence[Entry[Item]]:
        """Return the values of these topics: all with `full`, else at least those that changed since the last read."""
        ...

    def key(self, item: Item) -> Hashable:
        """Return the key of a value; a new value replaces the one with the same key."""
        ...

    def ended_key(self, item: Item) -> Hashable | None:
        """Return the key whose value an item of the log makes obsolete."""
        ...
