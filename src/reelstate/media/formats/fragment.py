"""One fragment of a fragmented MP4: its moof box, which describes the samples in the mdat box after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from reelstate.media.formats.box import (
    BROKEN,
    HEADER,
    NOT_FRAGMENTED,
    BoxReader,
    MalformedBoxes,
    child_boxes,
    single_box,
)
from reelstate.media.formats.header import TrackHeader
from reelstate.media.formats.segment import Segment

_NO_SYNC = 0x10000
_NEGATIVE = 1 << 63


@dataclass(frozen=True, slots=True)
class _Run:
    """Consecutive samples of the file (trun)."""

    start: int | None
    count: int
    duration: int
    size: int
    step: int
    first_size: int
    first_flags: int
    composition: int


@dataclass(frozen=True, slots=True)
class Fragment:
    """A moof box whose mdat box is not read yet."""

    offset: int
    decode_time: int
    runs: tuple[_Run, ...]

    def to_segment(self, start: int, end: int) -> Segment:
        """Return the segment, given the offsets at which its media data starts and ends."""
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
        offset = self.offset
        for run in self.runs:
            offset = offset if run.start is None else self.offset + run.start
            if offset < start or offset + run.size > end:
                raise MalformedBoxes(f"the samples of the moof box at byte {self.offset:,} are not in its media data")
            offset += run.size


def parse_fragment(moof: bytes, offset: int, size: int, header: TrackHeader) -> Fragment:
    """Parse the body of a moof box at this offset of the file."""
    traf = single_box(moof, "traf", "moof")
    defaults = _track_defaults(BoxReader(single_box(traf, "tfhd", "traf"), "tfhd"), header)
    bodies = [body for name, body in child_boxes(traf, "traf") if name == "trun"]
    runs = tuple(run for body in bodies if (run := _run(body, defaults)).count)
    if not runs or not sum(run.duration for run in runs):
        raise MalformedBoxes(f"the moof box at byte {offset:,} has no samples or no duration", hint=BROKEN)
    if runs[0].start is None:
        runs = (replace(runs[0], start=size + HEADER.size), *runs[1:])
    return Fragment(offset, _decode_time(single_box(traf, "tfdt", "traf"), offset), runs)


def _track_defaults(fields: BoxReader, header: TrackHeader) -> tuple[int, int, int]:
    """Return the default duration, size and flags of samples."""
    flags, number = fields.read("2I")
    if number != header.number:
        raise MalformedBoxes(f"a fragment has the unknown track {number}", hint="expected one track per file")
    if flags & 1 or not flags & 0x20000:
        raise MalformedBoxes("a fragment has offsets from the start of the file", hint=NOT_FRAGMENTED)
    fields.read_optional(flags & 2, "I", 0)
    duration = fields.read_optional(flags & 8, "I", header.default_duration)
    size = fields.read_optional(flags & 16, "I", header.default_size)
    return duration, size, fields.read_optional(flags & 32, "I", header.default_flags)


def _decode_time(body: bytes, offset: int) -> int:
    fields = BoxReader(body, "tfdt")
    decode_time = fields.read_int("Q" if fields.read_int("I") >> 24 else "I")
    if decode_time >= _NEGATIVE:
        raise MalformedBoxes(
            f"the moof box at byte {offset:,} starts before zero, at {decode_time - (1 << 64)}",
            hint="for audio leave out frag_discont and -avoid_negative_ts disabled",
        )
    return decode_time


def _run(body: bytes, defaults: tuple[int, int, int]) -> _Run:
    fields = BoxReader(body, "trun")
    head, count = fields.read("2I")
    flags = head & 0xFFFFFF
    start = fields.read_int("i") if flags & 1 else None
    first_flags = fields.read_int("I") if flags & 4 else None
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


def _columns(fields: BoxReader, flags: int, count: int) -> dict[int, tuple[int, ...]]:
    """Return the fields of the samples, by the flag of each field."""
    present = [flag for flag in (0x100, 0x200, 0x400, 0x800) if flags & flag]
    if not present or not count:
        return {}
    values = fields.read(f"{count * len(present)}I")
    return {flag: values[number :: len(present)] for number, flag in enumerate(present)}


def _step(durations: Sequence[int]) -> int:
    return durations[0] if len(set(durations)) == 1 else 0


def _signed(number: int) -> int:
    return number - (1 << 32) if number >= 1 << 31 else number
