"""Parse fragmented MP4 files without decoding them.

The bytes may be hostile: every size is checked against the bytes that are there, and time and memory are bounded by
the size of the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from reelstate.media.formats.box import BROKEN, HEADER, NOT_FRAGMENTED, MalformedBoxes
from reelstate.media.formats.fragment import Fragment, parse_fragment
from reelstate.media.formats.header import Track, TrackHeader, init_hash, parse_moov
from reelstate.media.formats.segment import Segment, merge_after, split_by_count

MAX_METADATA = 1024 * 1024
"""The largest moov or moof in bytes; usual ones are a thousand times smaller."""
MAX_BOXES = 300_000
"""The number of top-level boxes that a file may have."""
BLOCK = 64 * 1024

_PARSED = {"ftyp", "moov", "moof"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FragmentedMp4:
    """A fragmented MP4 file of one track."""

    init: bytes
    """The bytes before the first segment: ftyp and moov, with the edit list."""
    init_hash: str
    """Equal for files that can be joined; edit list and bit rates are ignored."""
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

    def with_counts(self, counts: Sequence[int]) -> FragmentedMp4:
        """Return the file in segments with these numbers of samples; raises `MalformedBoxes` if they do not fit."""
        return replace(self, segments=tuple(split_by_count(self.segments, counts)))

    def merge_after(self, end: Fraction) -> FragmentedMp4:
        """Return the file with fragments that begin at `end` seconds or later merged into the last one before."""
        return replace(self, segments=tuple(merge_after(self.segments, end * self.track.timescale)))


def parse_mp4(source: Path | bytes) -> FragmentedMp4:
    """Parse a file or its bytes; raises `MalformedBoxes`. Media data is skipped in a file."""
    scanner = BoxScanner()
    if isinstance(source, bytes):
        scanner.feed(source)
        return scanner.close()
    size = source.stat().st_size
    with source.open("rb", buffering=0) as file:
        while block := file.read(BLOCK):
            scanner.feed(block)
            file.seek(scanner.skip(size - file.tell()), 1)
    return scanner.close()


class BoxScanner:
    """Parses a file in pieces; refuses more than `max_boxes` top-level boxes."""

    def __init__(self, max_boxes: int = MAX_BOXES) -> None:
        self._max_boxes = max_boxes
        self._buffer = bytearray()
        self._position = 0
        self._to_skip = 0
        self._count = 0
        self._boxes: dict[str, bytes] = {}
        self._header: TrackHeader | None = None
        self._fragment: Fragment | None = None
        self._segments: list[Segment] = []

    def feed(self, data: bytes) -> None:
        skipped = self.skip(len(data))
        self._buffer += memoryview(data)[skipped:]
        while not self._to_skip and self._parse_next():
            pass

    def skip(self, limit: int) -> int:
        """Skip bytes that need not be read, up to `limit`; return how many."""
        skipped = min(self._to_skip, limit)
        self._to_skip -= skipped
        self._position += skipped
        return skipped

    def close(self) -> FragmentedMp4:
        """Return the result, once the whole file was fed."""
        if self._to_skip or self._buffer or self._fragment:
            raise MalformedBoxes(
                f"the file is truncated after {self._position + len(self._buffer):,} bytes", hint=BROKEN
            )
        if self._header is None:
            raise MalformedBoxes("the file has no moov box", hint="it is not an MP4 file, or truncated")
        init = self._boxes.get("ftyp", b"") + self._boxes["moov"]
        return FragmentedMp4(
            init=init,
            init_hash=init_hash(init, self._header),
            track=self._header.track,
            segments=tuple(self._segments),
        )

    def _parse_next(self) -> bool:
        """Parse the next box, if enough of it is in the buffer."""
        header = self._read_header()
        if header is None:
            return False
        kind, size, length = header
        if kind in _PARSED:
            if size > MAX_METADATA:
                raise MalformedBoxes(f"the {kind} box at byte {self._position:,} claims {size:,} bytes", hint=BROKEN)
            if len(self._buffer) < size:
                return False
            self._parse_box(kind, bytes(self._buffer[:size]), length)
        elif kind == "mdat":
            self._end_fragment(size, length)
        self._consume(size)
        return True

    def _read_header(self) -> tuple[str, int, int] | None:
        """Return kind, size and header length of the next box."""
        if len(self._buffer) < HEADER.size:
            return None
        size, name = HEADER.unpack_from(self._buffer)
        length = HEADER.size
        if size == 1:
            length = 16
            if len(self._buffer) < length:
                return None
            size = int.from_bytes(self._buffer[8:16])
        kind = name.decode("latin-1")
        if size < length:
            raise MalformedBoxes(f"the {kind!r} box at byte {self._position:,} has the size {size}", hint=BROKEN)
        return kind, size, length

    def _consume(self, size: int) -> None:
        self._count += 1
        if self._count > self._max_boxes:
            raise MalformedBoxes(f"the file has more than {self._max_boxes:,} boxes", hint=BROKEN)
        available = min(size, len(self._buffer))
        del self._buffer[:available]
        self._position += available
        self._to_skip = size - available

    def _parse_box(self, kind: str, box: bytes, header: int) -> None:
        if kind == "moof":
            self._begin_fragment(box[header:], len(box))
            return
        if kind in self._boxes:
            raise MalformedBoxes(f"a second {kind} box at byte {self._position:,}", hint="join segments, not files")
        self._boxes[kind] = box
        if kind == "moov":
            self._header = parse_moov(box[header:])

    def _begin_fragment(self, body: bytes, size: int) -> None:
        if self._header is None or self._fragment is not None:
            raise MalformedBoxes(f"unexpected moof box at byte {self._position:,}", hint=BROKEN)
        self._fragment = parse_fragment(body, self._position, size, self._header)

    def _end_fragment(self, size: int, header: int) -> None:
        if self._fragment is None:
            raise MalformedBoxes(f"media data without a moof box at byte {self._position:,}", hint=NOT_FRAGMENTED)
        self._segments.append(self._fragment.to_segment(self._position + header, self._position + size))
        self._fragment = None
