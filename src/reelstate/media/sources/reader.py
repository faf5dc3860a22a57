"""Read sources in parts, with a cache of blocks and read-ahead."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from reelstate.media.sources.errors import SourceUnavailable, SourceUnseekable

Fetch = Callable[[int, int], Awaitable[bytes]]
"""Returns exactly `length` bytes at an offset; never called beyond the end."""

BLOCK: Final = 256 * 1024
CACHED_BLOCKS: Final = 64
MAX_READ_AHEAD: Final = 8
"""Blocks per request when blocks are read in order."""


class Reader(Protocol):
    """A source that is read in parts."""

    @property
    def size(self) -> int | None:
        """The size in bytes, if known."""

    async def read(self, offset: int, length: int) -> bytes:
        """Return up to `length` bytes at an offset, fewer at the end."""


class BlockReader:
    """Reads a source in blocks through `fetch`; `first` is its first block, if it is known already."""

    def __init__(self, fetch: Fetch, size: int, first: bytes = b"") -> None:
        self.size = size
        self._fetch = fetch
        self._blocks: OrderedDict[int, bytes] = OrderedDict()
        self._next_block = 0
        self._read_ahead = 1
        if len(first) == min(size, BLOCK):
            self._cache(0, first)

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
        self._read_ahead = min(2 * self._read_ahead, MAX_READ_AHEAD) if number == self._next_block else 1
        start = number * BLOCK
        length = min(self._read_ahead * BLOCK, self.size - start)
        data = await self._fetch(start, length)
        if len(data) != length:
            raise SourceUnavailable(
                f"{length:,} bytes were requested, but {len(data):,} received", hint="the task is retried"
            )
        self._cache(number, data)

    def _cache(self, number: int, data: bytes) -> None:
        for start in range(0, len(data), BLOCK):
            self._blocks[number + start // BLOCK] = data[start : start + BLOCK]
        self._next_block = number + -(-len(data) // BLOCK)
        while len(self._blocks) > CACHED_BLOCKS:
            self._blocks.popitem(last=False)


class HeadReader:
    """Reads the beginning of a source whose server does not support range requests."""

    def __init__(self, head: bytes, size: int | None, *, whole: bool) -> None:
        self.size = size
        self._head = head
        self._whole = whole

    async def read(self, offset: int, length: int) -> bytes:
        if not self._whole and offset + length > len(self._head):
            raise SourceUnseekable(
                f"only the first {len(self._head):,} bytes can be read",
                hint="its server does not support range requests: fetch it",
            )
        return self._head[offset : offset + length]
