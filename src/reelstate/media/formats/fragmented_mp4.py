"""Fragmented MP4 as an encoder writes it: what a file holds and where, without decoding anything.

The bytes may come of hostile input, so nothing in them is believed: every length is checked against what is there,
and work and memory are bounded by the size of the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from reelstate.media.formats.box import BROKEN, HEADER, NOT_FRAGMENTED, MalformedBoxes
from reelstate.media.formats.fragment import Fragment, fragment_of
from reelstate.media.formats.header import Description, Track, described, init_hash
from reelstate.media.formats.segment import Segment, by_count, ending_by

MAX_METADATA = 1024 * 1024
"""The largest moov or moof, in bytes: ours are a thousandth of it."""
MAX_BOXES = 300_000
"""How many boxes a file may have side by side."""
BLOCK = 64 * 1024

_KEPT = {"ftyp", "moov", "moof"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fragmented:
    """A fragmented MP4 file of one track."""

    init: bytes
    """What a decoder needs before the first segment, the edit list with it."""
    init_hash: str
    """The same in files that can be joined: edit list and bit rates don't count."""
    track: Track
    segments: tuple[Segment, ...]

    @property
    def samples(self) -> int:
        return sum(segment.samples for segment in self.segments)

    @property
    def duration(self) -> int:
        return sum(segment.duration for segment in self.segments)

    @property
    def first_decode_time(self) -> int:
        return self.segments[0].decode_time if self.segments else 0

    def with_counts(self, counts: Sequence[int]) -> Fragmented:
        """The same file in segments of so many samples; an error when a fragment crosses the border of one."""
        return replace(self, segments=tuple(by_count(self.segments, counts)))

    def ending_by(self, end: Fraction) -> Fragmented:
        """The same file, with fragments that begin at this time in seconds or later joined to those before them."""
        return replace(self, segments=tuple(ending_by(self.segments, end * self.track.timescale)))


def parse(source: Path | bytes) -> Fragmented:
    """What a file, or its bytes, hold. The media data itself is not read from a file."""
    walker = Walker()
    if isinstance(source, bytes):
        walker.feed(source)
        return walker.close()
    size = source.stat().st_size
    with source.open("rb", buffering=0) as file:
        while block := file.read(BLOCK):
            walker.feed(block)
            file.seek(walker.skip(size - file.tell()), 1)
    return walker.close()


class Walker:
    """Takes a file piece by piece and keeps what describes it; one of more than `most` boxes is refused."""

    def __init__(self, most: int = MAX_BOXES) -> None:
        self._most = most
        self._held = bytearray()
        self._position = 0
        self._to_pass = 0
        self._count = 0
        self._kept: dict[str, bytes] = {}
        self._description: Description | None = None
        self._open: Fragment | None = None
        self._segments: list[Segment] = []

    def feed(self, data: bytes) -> None:
        passed = self.skip(len(data))
        self._held += memoryview(data)[passed:]
        while not self._to_pass and self._next():
            pass

    def skip(self, most: int) -> int:
        """Pass over bytes that need not be read; says how many, never more than `most`."""
        passed = min(self._to_pass, most)
        self._to_pass -= passed
        self._position += passed
        return passed

    def close(self) -> Fragmented:
        """What the file holds, now that all of it was fed."""
        if self._to_pass or self._held or self._open:
            raise MalformedBoxes(f"the file breaks off after {self._position + len(self._held):,} bytes", hint=BROKEN)
        if self._description is None:
            raise MalformedBoxes("the file has no moov box", hint="it is not an MP4 file, or breaks off early")
        init = self._kept.get("ftyp", b"") + self._kept["moov"]
        return Fragmented(
            init=init,
            init_hash=init_hash(init, self._description),
            track=self._description.track,
            segments=tuple(self._segments),
        )

    def _next(self) -> bool:
        """Take one box, if enough of it is here."""
        header = self._header()
        if header is None:
            return False
        kind, size, length = header
        if kind in _KEPT:
            if size > MAX_METADATA:
                raise MalformedBoxes(f"the {kind} box at byte {self._position:,} claims {size:,} bytes", hint=BROKEN)
            if len(self._held) < size:
                return False
            self._keep(kind, bytes(self._held[:size]), length)
        elif kind == "mdat":
            self._media(size, length)
        self._drop(size)
        return True

    def _header(self) -> tuple[str, int, int] | None:
        """Kind, size and length of the header of the box that comes next."""
        if len(self._held) < HEADER.size:
            return None
        size, name = HEADER.unpack_from(self._held)
        length = HEADER.size
        if size == 1:
            length = 16
            if len(self._held) < length:
                return None
            size = int.from_bytes(self._held[8:16])
        kind = name.decode("latin-1")
        if size < length:
            raise MalformedBoxes(f"the {kind!r} box at byte {self._position:,} has the size {size}", hint=BROKEN)
        return kind, size, length

    def _drop(self, size: int) -> None:
        self._count += 1
        if self._count > self._most:
            raise MalformedBoxes(f"the file has more than {self._most:,} boxes", hint=BROKEN)
        here = min(size, len(self._held))
        del self._held[:here]
        self._position += here
        self._to_pass = size - here

    def _keep(self, kind: str, box: bytes, header: int) -> None:
        if kind == "moof":
            self._begin(box[header:], len(box))
            return
        if kind in self._kept:
            raise MalformedBoxes(f"a second {kind} box at byte {self._position:,}", hint="join segments, not files")
        self._kept[kind] = box
        if kind == "moov":
            self._description = described(box[header:])

    def _begin(self, body: bytes, size: int) -> None:
        if self._description is None or self._open is not None:
            raise MalformedBoxes(f"a moof box out of place at byte {self._position:,}", hint=BROKEN)
        self._open = fragment_of(body, self._position, size, self._description)

    def _media(self, size: int, header: int) -> None:
        if self._open is None:
            raise MalformedBoxes(f"media data without a moof box at byte {self._position:,}", hint=NOT_FRAGMENTED)
        self._segments.append(self._open.closed(self._position + header, self._position + size))
        self._open = None
