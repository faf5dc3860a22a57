"""Reads a package back from the storage and checks hashes, boxes and playlists. Decodes nothing."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from reelstate.core.errors import NotFound
from reelstate.media.formats.box import MalformedBoxes
from reelstate.media.formats.fragmented_mp4 import BoxScanner, FragmentedMp4
from reelstate.media.packaging.check import ReadFiles, check
from reelstate.media.packaging.manifest import FileEntry, Manifest

BLOCK: Final = 1024 * 1024
CONCURRENT_READS: Final = 4
MAX_TEXT: Final = 16 * 1024 * 1024
BOXES_PER_FILE: Final = 64
BOXES_PER_SEGMENT: Final = 64
"""A moof and an mdat for each fragment: more fragments than any encoder puts into a segment."""

Get = Callable[[str, int, int], Awaitable[bytes]]
"""Reads bytes of a key: (key, start, length). Returns fewer at the end of the file."""


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """What was read, and what is wrong."""

    faults: tuple[str, ...]
    """One sentence each, which begins with the file or track. Empty if the package may be published."""
    files: int
    size: int
    """Bytes that were read."""

    @property
    def good(self) -> bool:
        return not self.faults


async def verify(get: Get, manifest: Manifest) -> VerifyReport:
    """Read every file of a package once, and report all of its faults."""
    slots = asyncio.Semaphore(CONCURRENT_READS)
    max_boxes, texts = _max_boxes(manifest), manifest.text_keys()
    readers = [
        _Reader(key, entry, max_boxes=max_boxes.get(key), is_text=key in texts) for key, entry in manifest.files.items()
    ]
    reading = [asyncio.create_task(reader.read(get, slots)) for reader in readers]
    try:
        await asyncio.gather(*reading)
    finally:
        for each in reading:  # after an error, don't read the others
            each.cancel()
    contents = ReadFiles(
        {reader.key: reader.boxes for reader in readers if reader.boxes},
        {reader.key: reader.text for reader in readers if reader.text is not None},
    )
    unreadable = [f"{reader.key}: {fault}" for reader in readers for fault in reader.faults]
    found = await asyncio.to_thread(lambda: list(check(manifest, contents)))  # seconds for a long video
    return VerifyReport((*unreadable, *found), len(readers), sum(reader.size for reader in readers))


def _max_boxes(manifest: Manifest) -> dict[str, int]:
    """Return how many boxes each media file may have, which limits the memory for it."""
    found = dict.fromkeys(manifest.media_keys(), BOXES_PER_FILE)
    for track in manifest.tracks:
        for chunk in track.chunks:
            found[chunk.key] = BOXES_PER_FILE + BOXES_PER_SEGMENT * len(chunk.segments)
    return found


class _Reader:
    """Reads one file in blocks: hashes it, parses its boxes if it is media, keeps its bytes if it is text."""

    def __init__(self, key: str, entry: FileEntry, *, max_boxes: int | None, is_text: bool) -> None:
        self.key, self._entry = key, entry
        self._hash = hashlib.sha256()
        self._walker = None if max_boxes is None else BoxScanner(max_boxes)
        self._kept = bytearray() if is_text else None
        self.size = 0
        self.boxes: FragmentedMp4 | None = None
        self.text: bytes | None = None
        self.faults: list[str] = []

    async def read(self, get: Get, slots: asyncio.Semaphore) -> None:
        """Read the file; what is wrong with it goes to `faults`."""
        async with slots:
            try:
                while (missing := self._entry.size - self.size) > 0:
                    block = await get(self.key, self.size, min(BLOCK, missing))
                    if not block:
                        break
                    await asyncio.to_thread(self._take, block)  # a hostile file takes long to parse
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

    def _walk(self, step: Callable[[BoxScanner], None]) -> None:
        try:
            if self._walker:
                step(self._walker)
        except MalformedBoxes as error:
            self.faults.append(str(error))
            self._walker = None

    def _close(self) -> None:
        if self.size != self._entry.size or not self.size:
            self.faults.append(f"has {self.size:,} bytes, not {self._entry.size:,}" if self.size else "is empty")
        elif self._hash.hexdigest() != self._entry.sha256:
            self.faults.append(f"has other bytes than were recorded: its sha256 is {self._hash.hexdigest()}")
        self.text = None if self._kept is None else bytes(self._kept)
        self._walk(self._keep_boxes)

    def _keep_boxes(self, walker: BoxScanner) -> None:
        self.boxes = walker.close()
