"""Fragmented MP4 as an encoder writes it: what a file holds and where, without decoding anything.

The bytes may come of hostile input, so nothing in them is believed: every length is checked against what is there,
and work and memory are bounded by the size of the file.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

from reelstate.core.errors import ReelstateError
from reelstate.media.codecs import UnknownCodec, codec_string

MOST_METADATA = 1024 * 1024
"""The largest moov or moof, in bytes: ours are a thousandth of it."""
MOST_BOXES = 300_000
"""How many boxes a file may have side by side."""
BLOCK = 64 * 1024

_HEADER = struct.Struct(">I4s")
_KEPT = {"ftyp", "moov", "moof"}
_INSIDE = {"moov": 0, "trak": 0, "mdia": 0, "minf": 0, "stbl": 0, "stsd": 8}
_ENTRY_HEADER = {"vide": 78, "soun": 28}
_LEFT_OUT = {"edts", "btrt", "sdtp"}
"""What no two chunks need to share: edit list, bit rates, and an empty table that only delay_moov writes."""
_NO_SYNC = 0x10000
_NEGATIVE = 1 << 63


class MalformedBoxes(ReelstateError):
    """The file is not a fragmented MP4 of one track, or breaks off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """One or more fragments that follow each other: a span of the file that a player fetches. Times are in ticks."""

    offset: int
    size: int
    decode_time: int
    samples: int
    duration: int
    starts_with_sync: bool
    key_size: int
    """From the start of the segment to the end of its first frame, for a list of key frames."""
    composition: int = 0
    """How much later than it is decoded the first frame is shown."""
    step: int = 0
    """How long each sample lasts; 0 when they differ."""

    @property
    def end(self) -> int:
        return self.offset + self.size

    @property
    def end_time(self) -> int:
        return self.decode_time + self.duration


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    kind: str
    """video or audio"""
    timescale: int
    codec: str
    width: int = 0
    height: int = 0
    channels: int = 0
    sample_rate: int = 0
    media_time: int = 0
    """Where in the track the presentation starts, by the edit list."""
    delay: Fraction = Fraction(0)
    """How many seconds the presentation waits before it starts, by the edit list."""


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
        return replace(self, segments=tuple(_by_count(self.segments, counts)))

    def with_shortest(self, seconds: Fraction) -> Fragmented:
        """The same file in segments that last so long at least: what is shorter joins those before it."""
        return replace(self, segments=tuple(_by_length(self.segments, seconds * self.track.timescale)))


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
    """Takes a file piece by piece and keeps what describes it."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._position = 0
        self._to_pass = 0
        self._count = 0
        self._kept: dict[str, bytes] = {}
        self._description: _Description | None = None
        self._open: _Fragment | None = None
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
            raise MalformedBoxes(f"the file breaks off after {self._position + len(self._held):,} bytes", hint=_BROKEN)
        if self._description is None:
            raise MalformedBoxes("the file has no moov box", hint="it is not an MP4 file, or breaks off early")
        return Fragmented(
            init=self._kept.get("ftyp", b"") + self._kept["moov"],
            init_hash=_init_hash(self._kept.get("ftyp", b"") + self._kept["moov"], self._description),
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
            if size > MOST_METADATA:
                raise MalformedBoxes(f"the {kind} box at byte {self._position:,} claims {size:,} bytes", hint=_BROKEN)
            if len(self._held) < size:
                return False
            self._keep(kind, bytes(self._held[:size]), length)
        elif kind == "mdat":
            self._media(size, length)
        self._drop(size)
        return True

    def _header(self) -> tuple[str, int, int] | None:
        """Kind, size and length of the header of the box that comes next."""
        if len(self._held) < _HEADER.size:
            return None
        size, name = _HEADER.unpack_from(self._held)
        length = _HEADER.size
        if size == 1:
            length = 16
            if len(self._held) < length:
                return None
            size = int.from_bytes(self._held[8:16])
        kind = name.decode("latin-1")
        if size < length:
            raise MalformedBoxes(f"the {kind!r} box at byte {self._position:,} has the size {size}", hint=_BROKEN)
        return kind, size, length

    def _drop(self, size: int) -> None:
        self._count += 1
        if self._count > MOST_BOXES:
            raise MalformedBoxes(f"the file has more than {MOST_BOXES:,} boxes", hint=_BROKEN)
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
            self._description = _description(box[header:])

    def _begin(self, body: bytes, size: int) -> None:
        if self._description is None or self._open is not None:
            raise MalformedBoxes(f"a moof box out of place at byte {self._position:,}", hint=_BROKEN)
        self._open = _fragment(body, self._position, size, self._description)

    def _media(self, size: int, header: int) -> None:
        if self._open is None:
            raise MalformedBoxes(f"media data without a moof box at byte {self._position:,}", hint=_NOT_FRAGMENTED)
        self._segments.append(self._open.closed(self._position + header, self._position + size))
        self._open = None


_BROKEN = "the encoder was stopped, or the file is damaged: make it again"
_NOT_FRAGMENTED = "make it with -movflags frag_keyframe+default_base_moof"


def _by_count(fragments: Sequence[Segment], counts: Sequence[int]) -> Iterator[Segment]:
    waiting = iter(fragments)
    for number, count in enumerate(counts):
        group: list[Segment] = []
        while (missing := count - sum(fragment.samples for fragment in group)) > 0:
            fragment = next(waiting, None)
            if fragment is None or fragment.samples > missing:
                found = "the file ends" if fragment is None else f"a fragment has {fragment.samples}"
                raise MalformedBoxes(
                    f"segment {number} wants {missing} more samples of {count}, but {found}",
                    hint="the encoder did not keep to the grid of key frames",
                )
            group.append(fragment)
        yield _joined(group)
    if (rest := next(waiting, None)) is not None:
        raise MalformedBoxes(f"the file goes on after its last segment, at byte {rest.offset:,}")


def _by_length(fragments: Sequence[Segment], shortest: Fraction) -> Iterator[Segment]:
    groups: list[list[Segment]] = []
    for fragment in fragments:
        if groups and sum(each.duration for each in groups[-1]) < shortest:
            groups[-1].append(fragment)
        else:
            groups.append([fragment])
    if len(groups) > 1 and sum(each.duration for each in groups[-1]) < shortest:
        groups[-2:] = [groups[-2] + groups[-1]]
    return map(_joined, groups)


def _joined(group: Sequence[Segment]) -> Segment:
    if not group:
        raise MalformedBoxes("a segment of no samples", hint="every segment has one at least")
    for before, after in pairwise(group):
        if before.end_time != after.decode_time:
            raise MalformedBoxes(f"a gap in time before byte {after.offset:,}", hint=_BROKEN)
    first, last = group[0], group[-1]
    steps = {fragment.step for fragment in group}
    return replace(
        first,
        size=last.end - first.offset,
        samples=sum(fragment.samples for fragment in group),
        duration=last.end_time - first.decode_time,
        step=first.step if len(steps) == 1 else 0,
    )


@dataclass(frozen=True, slots=True)
class _Description:
    """What moov says: the track, and what holds for samples that say nothing themselves."""

    track: Track
    handler: str
    number: int
    default_duration: int
    default_size: int
    default_flags: int


class _Fields:
    """Numbers out of a box, one after the other."""

    def __init__(self, data: bytes, place: str) -> None:
        self._data, self._place, self._at = data, place, 0

    def take(self, layout: str) -> tuple[int, ...]:
        shape = struct.Struct(f">{layout}")
        if self._at + shape.size > len(self._data):
            raise MalformedBoxes(f"the {self._place} box of {len(self._data)} bytes ends too early", hint=_BROKEN)
        values = shape.unpack_from(self._data, self._at)
        self._at += shape.size
        return values

    def one(self, layout: str) -> int:
        return self.take(layout)[-1]

    def optional(self, present: int, layout: str, otherwise: int) -> int:
        return self.one(layout) if present else otherwise


def _inside(data: bytes, place: str) -> Iterator[tuple[str, bytes]]:
    """The boxes that follow each other in the body of another."""
    at = 0
    while at < len(data):
        if at + _HEADER.size > len(data):
            raise MalformedBoxes(f"the {place} box ends inside the header of another", hint=_BROKEN)
        size, name = _HEADER.unpack_from(data, at)
        if size < _HEADER.size or at + size > len(data):
            raise MalformedBoxes(f"a box of {size:,} bytes does not fit into its {place} box", hint=_BROKEN)
        yield name.decode("latin-1"), data[at + _HEADER.size : at + size]
        at += size


def _only(data: bytes, kind: str, place: str) -> bytes:
    found = [body for name, body in _inside(data, place) if name == kind]
    if len(found) != 1:
        raise MalformedBoxes(f"the {place} box has {len(found)} {kind} boxes, not one", hint="one track a file")
    return found[0]


def _description(moov: bytes) -> _Description:
    trak = _only(moov, "trak", "moov")
    mdia = _only(trak, "mdia", "trak")
    extends = _Fields(_only(_only(moov, "mvex", "moov"), "trex", "mvex"), "trex")
    _, number, _, duration, size, flags = extends.take("6I")
    handler = _handler(_only(mdia, "hdlr", "mdia"))
    track = _track(handler, mdia, _edits(moov, trak))
    return _Description(track, handler, number, duration, size, flags)


def _handler(body: bytes) -> str:
    handler = struct.pack(">I", _Fields(body, "hdlr").one("3I")).decode("latin-1")
    if handler not in _ENTRY_HEADER:
        raise MalformedBoxes(f"a track of kind {handler!r}", hint="one video or one audio track a file")
    return handler


def _track(handler: str, mdia: bytes, edits: tuple[int, Fraction]) -> Track:
    timescale = _timescale(_only(mdia, "mdhd", "mdia"), "mdhd")
    stsd = _only(_only(_only(mdia, "minf", "mdia"), "stbl", "minf"), "stsd", "stbl")
    name, entry = next(_inside(stsd[8:], "stsd"), ("", b""))
    fields = _Fields(entry, "stsd")
    codec = _codec(name, entry[_ENTRY_HEADER[handler] :])
    if handler == "vide":
        *_, width, height = fields.take("24x2H")
        return Track(
            kind="video", timescale=timescale, codec=codec, width=width, height=height,
            media_time=edits[0], delay=edits[1],
        )  # fmt: skip
    channels, _, _, sample_rate = fields.take("16x2HII")
    return Track(
        kind="audio", timescale=timescale, codec=codec, channels=channels, sample_rate=sample_rate >> 16,
        media_time=edits[0], delay=edits[1],
    )  # fmt: skip


def _codec(name: str, data: bytes) -> str:
    boxes: Mapping[str, bytes] = dict(_inside(data, "stsd"))
    try:
        return codec_string(name, boxes)
    except UnknownCodec as error:
        raise MalformedBoxes(error.message, hint=error.hint) from None


def _timescale(body: bytes, place: str) -> int:
    fields = _Fields(body, place)
    timescale = fields.one("16xI" if fields.one("I") >> 24 else "8xI")
    if not timescale:
        raise MalformedBoxes(f"the {place} box says that a second has no ticks", hint=_BROKEN)
    return timescale


def _edits(moov: bytes, trak: bytes) -> tuple[int, Fraction]:
    """Where the presentation starts in the track, and how many seconds it waits before."""
    lists = [_only(body, "elst", "edts") for name, body in _inside(trak, "trak") if name == "edts"]
    if not lists:
        return 0, Fraction(0)
    waits = 0
    for duration, start in _edit_list(lists[0]):
        if start >= 0:
            return start, Fraction(waits, _timescale(_only(moov, "mvhd", "moov"), "mvhd"))
        waits += duration
    return 0, Fraction(0)


def _edit_list(body: bytes) -> Iterator[tuple[int, int]]:
    fields = _Fields(body, "elst")
    long = fields.one("I") >> 24
    for _ in range(fields.one("I")):
        duration, start, _ = fields.take("QqI" if long else "IiI")
        yield duration, start


def _init_hash(init: bytes, description: _Description) -> str:
    digest = hashlib.sha256()
    for name, body in _leaves(init, "file", _ENTRY_HEADER[description.handler]):
        digest.update(f"{name} {len(body)} ".encode())
        digest.update(body)
    return digest.hexdigest()


def _leaves(data: bytes, place: str, entry_header: int) -> Iterator[tuple[str, bytes]]:
    """What boxes hold that hold no others, by path; what a decoder does not need is left out."""
    for name, body in _inside(data, place):
        path = f"{place}/{name}"
        skip = entry_header if place.endswith("/stsd") else _INSIDE.get(name)
        if name in _LEFT_OUT:
            continue
        if skip is None:
            yield path, body
            continue
        yield path, body[:skip]
        yield from _leaves(body[skip:], path, entry_header)


@dataclass(frozen=True, slots=True)
class _Run:
    """Samples that follow each other in the file."""

    start: int | None
    count: int
    duration: int
    size: int
    step: int
    first_size: int
    first_flags: int
    composition: int


@dataclass(frozen=True, slots=True)
class _Fragment:
    """A moof box whose media data has not come yet."""

    offset: int
    decode_time: int
    runs: tuple[_Run, ...]

    def closed(self, start: int, end: int) -> Segment:
        """The segment, now that its media data is known to stand between two places of the file."""
        first = self.runs[0]
        self._check(start, end)
        steps = {run.step for run in self.runs}
        return Segment(
            offset=self.offset,
            size=end - self.offset,
            decode_time=self.decode_time,
            samples=sum(run.count for run in self.runs),
            duration=sum(run.duration for run in self.runs),
            starts_with_sync=not first.first_flags & _NO_SYNC,
            key_size=(first.start or 0) + first.first_size,
            composition=first.composition,
            step=first.step if len(steps) == 1 else 0,
        )

    def _check(self, start: int, end: int) -> None:
        at = self.offset
        for run in self.runs:
            at = at if run.start is None else self.offset + run.start
            if at < start or at + run.size > end:
                raise MalformedBoxes(f"the samples of the moof box at byte {self.offset:,} are not in its media data")
            at += run.size


def _fragment(moof: bytes, offset: int, size: int, description: _Description) -> _Fragment:
    traf = _only(moof, "traf", "moof")
    defaults = _track_defaults(_Fields(_only(traf, "tfhd", "traf"), "tfhd"), description)
    bodies = [body for name, body in _inside(traf, "traf") if name == "trun"]
    runs = tuple(run for body in bodies if (run := _run(body, defaults)).count)
    if not runs or not sum(run.duration for run in runs):
        raise MalformedBoxes(f"the moof box at byte {offset:,} has no samples, or they last no time", hint=_BROKEN)
    if runs[0].start is None:
        runs = (replace(runs[0], start=size + _HEADER.size), *runs[1:])
    return _Fragment(offset, _decode_time(_only(traf, "tfdt", "traf"), offset), runs)


def _track_defaults(fields: _Fields, description: _Description) -> tuple[int, int, int]:
    """Duration, size and flags of samples that say nothing themselves."""
    flags, number = fields.take("2I")
    if number != description.number:
        raise MalformedBoxes(f"a fragment of track {number}, which moov does not know", hint="one track a file")
    if flags & 1 or not flags & 0x20000:
        raise MalformedBoxes("a fragment counts from the start of the file", hint=_NOT_FRAGMENTED)
    fields.optional(flags & 2, "I", 0)
    duration = fields.optional(flags & 8, "I", description.default_duration)
    size = fields.optional(flags & 16, "I", description.default_size)
    return duration, size, fields.optional(flags & 32, "I", description.default_flags)


def _decode_time(body: bytes, offset: int) -> int:
    fields = _Fields(body, "tfdt")
    decode_time = fields.one("Q" if fields.one("I") >> 24 else "I")
    if decode_time >= _NEGATIVE:
        raise MalformedBoxes(
            f"the moof box at byte {offset:,} starts before zero, at {decode_time - (1 << 64)}",
            hint="for audio leave out frag_discont and -avoid_negative_ts disabled",
        )
    return decode_time


def _run(body: bytes, defaults: tuple[int, int, int]) -> _Run:
    fields = _Fields(body, "trun")
    head, count = fields.take("2I")
    flags = head & 0xFFFFFF
    start = fields.one("i") if flags & 1 else None
    first_flags = fields.one("I") if flags & 4 else None
    columns = _columns(fields, flags, count)
    durations, sizes = columns.get(0x100), columns.get(0x200)
    every_flag = columns.get(0x400) or (defaults[2],)
    compositions = columns.get(0x800) or (0,)
    return _Run(
        start=start,
        count=count,
        duration=sum(durations) if durations else count * defaults[0],
        size=sum(sizes) if sizes else count * defaults[1],
        step=_step(durations) if durations else defaults[0],
        first_size=sizes[0] if sizes else defaults[1],
        first_flags=every_flag[0] if first_flags is None else first_flags,
        composition=_signed(compositions[0]) if head >> 24 else compositions[0],
    )


def _columns(fields: _Fields, flags: int, count: int) -> dict[int, tuple[int, ...]]:
    """What each sample says of itself, by the flag that announces it."""
    present = [flag for flag in (0x100, 0x200, 0x400, 0x800) if flags & flag]
    if not present or not count:
        return {}
    values = fields.take(f"{count * len(present)}I")
    return {flag: values[place :: len(present)] for place, flag in enumerate(present)}


def _step(durations: Sequence[int]) -> int:
    return durations[0] if len(set(durations)) == 1 else 0


def _signed(number: int) -> int:
    return number - (1 << 32) if number >= 1 << 31 else number
