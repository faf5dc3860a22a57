"""Sources that are read in parts. What was read is kept for a while, and what follows it is read ahead."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from reelstate.media.sources.errors import SourceUnavailable, SourceUnseekable

Fetch = Callable[[int, int], Awaitable[bytes]]
"""The bytes at an offset, as many as asked for: nothing is asked for beyond the end."""

BLOCK: Final = 256 * 1024
KEPT: Final = 64
"""Blocks that are kept."""
AHEAD: Final = 8
"""Blocks that are read at once when they are read in order."""


class Reader(Protocol):
    @property
    def size(self) -> int | None:
        """How many bytes there are, where that is known."""

    async def read(self, offset: int, length: int) -> bytes:
        """The bytes at an offset; less than asked for at the end."""


class BlockReader:
    def __init__(self, fetch: Fetch, size: int, first: bytes = b"") -> None:
        self.size = size
        self._fetch = fetch
        self._blocks: OrderedDict[int, bytes] = OrderedDict()
        self._next = 0
        self._run = 1
        if len(first) == min(size, BLOCK):
            self._keep(0, first)

    async def read(self, offset: int, length: int) -> bytes:
        end = min(offset + length, self.size)
        if offset >= end:
            return b""
        numbers = range(offset // BLOCK, (end - 1) // BLOCK + 1)
        data = b"".join([await self._block(number) for number in numbers])
        return data[offset % BLOCK :][: end - offset]

    async def _block(self, number: int) -> bytes:
        if number not in self._blocks:
            await self._load(number)
        self._blocks.move_to_end(number)
        return self._blocks[number]

    async def _load(self, number: int) -> None:
        self._run = min(2 * self._run, AHEAD) if number == self._next else 1
        start = number * BLOCK
        length = min(self._run * BLOCK, self.size - start)
        data = await self._fetch(start, length)
        if len(data) != length:
            raise SourceUnavailable(
                f"{length:,} bytes were asked for and {len(data):,} came", hint="it is read again at the next attempt"
            )
        self._keep(number, data)

    def _keep(self, number: int, data: bytes) -> None:
        for start in range(0, len(data), BLOCK):
            self._blocks[number + start // BLOCK] = data[start : start + BLOCK]
        self._next = number + -(-len(data) // BLOCK)
        while len(self._blocks) > KEPT:
            self._blocks.popitem(last=False)


class HeadReader:
    """The beginning of a source whose server does not serve parts."""

    def __init__(self, head: bytes, size: int | None, *, whole: bool) -> None:
        self.size = size
        self._head = head
        self._whole = whole

    async def read(self, offset: int, length: int) -> bytes:
        if not self._whole and offset + length > len(self._head):
            raise SourceUnseekable(
                f"only the first {len(self._head):,} bytes can be read",
                hint="the server does not serve parts: fetch it",
            )
        return self._head[offset : offset + length]
