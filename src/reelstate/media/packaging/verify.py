"""Whether a package is what it says it is, read back from the storage: hashes, boxes and playlists, no decoding."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from reelstate.core.errors import NotFound
from reelstate.media.formats.box import MalformedBoxes
from reelstate.media.formats.fragmented_mp4 import Fragmented, Walker
from reelstate.media.packaging.check import CheckedFile, check
from reelstate.media.packaging.manifest import FileEntry, Manifest, boxed, written

BLOCK: Final = 1024 * 1024
AT_ONCE: Final = 4
"""How many files are read at the same time."""
MAX_TEXT: Final = 16 * 1024 * 1024
FEW_BOXES: Final = 64
BOXES_PER_SEGMENT: Final = 64
"""A moof and an mdat for each fragment: as many fragments in a segment as an encoder could ever want."""

Get = Callable[[str, int, int], Awaitable[bytes]]
"""Reads bytes of a key: from a start, so many. Fewer come back where the file ends."""


@dataclass(frozen=True, slots=True)
class VerifyReport:
    faults: tuple[str, ...]
    """Each a sentence that names the place. None: the package may be published."""
    files: int
    size: int
    """Bytes that were read."""

    @property
    def good(self) -> bool:
        return not self.faults


async def verify(get: Get, manifest: Manifest) -> VerifyReport:
    """Read every file of the package once, and say everything that is wrong with it."""
    room = asyncio.Semaphore(AT_ONCE)
    walked, kept = _most_boxes(manifest), written(manifest)
    readers = [
        _Reader(key, entry, most_boxes=walked.get(key), keeps=key in kept) for key, entry in manifest["files"].items()
    ]
    reading = [asyncio.create_task(reader.read(get, room)) for reader in readers]
    try:
        await asyncio.gather(*reading)
    finally:
        for each in reading:  # where one can't be read, nobody waits for the others
            each.cancel()
    seen = CheckedFile(
        {reader.key: reader.boxes for reader in readers if reader.boxes},
        {reader.key: reader.text for reader in readers if reader.text is not None},
    )
    read = [f"{reader.key}: {fault}" for reader in readers for fault in reader.faults]
    found = await asyncio.to_thread(lambda: list(check(manifest, seen)))  # seconds for a long film
    return VerifyReport((*read, *found), len(readers), sum(reader.size for reader in readers))


def _most_boxes(manifest: Manifest) -> dict[str, int]:
    """The boxes that each file may have: what is kept of one grows with them."""
    found = dict.fromkeys(boxed(manifest), FEW_BOXES)
    for track in (*manifest["rungs"], *manifest["audio"]):
        for chunk in track["chunks"]:
            found[chunk["key"]] = FEW_BOXES + BOXES_PER_SEGMENT * len(chunk["segments"])
    return found


class _Reader:
    """One file, block by block: hashed, and looked into as far as its place in the manifest asks for."""

    def __init__(self, key: str, entry: FileEntry, *, most_boxes: int | None, keeps: bool) -> None:
        self.key, self._entry = key, entry
        self._hash = hashlib.sha256()
        self._walker = None if most_boxes is None else Walker(most_boxes)
        self._kept = bytearray() if keeps else None
        self.size = 0
        self.boxes: Fragmented | None = None
        self.text: bytes | None = None
        self.faults: list[str] = []

    async def read(self, get: Get, room: asyncio.Semaphore) -> None:
        async with room:
            try:
                while (missing := self._entry["size"] - self.size) > 0:
                    block = await get(self.key, self.size, min(BLOCK, missing))
                    if not block:
                        break
                    await asyncio.to_thread(self._take, block)  # a hostile file is slow to look through
            except (NotFound, FileNotFoundError):
                self.faults.append("is not in the storage")
                return
        await asyncio.to_thread(self._close)

    def _take(self, block: bytes) -> None:
        self.size += len(block)
        self._hash.update(block)
        if self._kept is not None and self.size <= MAX_TEXT:
            self._kept += block
        self._walk(lambda walker: walker.feed(block))

    def _walk(self, step: Callable[[Walker], None]) -> None:
        try:
            if self._walker:
                step(self._walker)
        except MalformedBoxes as error:
            self.faults.append(str(error))
            self._walker = None

    def _close(self) -> None:
        if self.size != self._entry["size"] or not self.size:
            self.faults.append(f"has {self.size:,} bytes, not {self._entry['size']:,}" if self.size else "is empty")
        elif self._hash.hexdigest() != self._entry["sha256"]:
            self.faults.append(f"has other bytes than were recorded: its sha256 is {self._hash.hexdigest()}")
        self.text = None if self._kept is None else bytes(self._kept)
        self._walk(self._keep_boxes)

    def _keep_boxes(self, walker: Walker) -> None:
        self.boxes = walker.close()
