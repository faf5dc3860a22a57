"""One fragment of a fragmented MP4: what its moof box says of the samples in the media data behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from reelstate.media.formats.box import BROKEN, HEADER, NOT_FRAGMENTED, Fields, MalformedBoxes, inside, only
from reelstate.media.formats.header import Description
from reelstate.media.formats.segment import Segment

_NO_SYNC = 0x10000
_NEGATIVE = 1 << 63


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
class Fragment:
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


def fragment_of(moof: bytes, offset: int, size: int, description: Description) -> Fragment:
    """What the body of a moof box says, which stands at an offset of the file."""
    traf = only(moof, "traf", "moof")
    defaults = _track_defaults(Fields(only(traf, "tfhd", "traf"), "tfhd"), description)
    bodies = [body for name, body in inside(traf, "traf") if name == "trun"]
    runs = tuple(run for body in bodies if (run := _run(body, defaults)).count)
    if not runs or not sum(run.duration for run in runs):
        raise MalformedBoxes(f"the moof box at byte {offset:,} has no samples, or they last no time", hint=BROKEN)
    if runs[0].start is None:
        runs = (replace(runs[0], start=size + HEADER.size), *runs[1:])
    return Fragment(offset, _decode_time(only(traf, "tfdt", "traf"), offset), runs)


def _track_defaults(fields: Fields, description: Description) -> tuple[int, int, int]:
    """Duration, size and flags of samples that say nothing themselves."""
    flags, number = fields.take("2I")
    if number != description.number:
        raise MalformedBoxes(f"a fragment of track {number}, which moov does not know", hint="one track a file")
    if flags & 1 or not flags & 0x20000:
        raise MalformedBoxes("a fragment counts from the start of the file", hint=NOT_FRAGMENTED)
    fields.optional(flags & 2, "I", 0)
    duration = fields.optional(flags & 8, "I", description.default_duration)
    size = fields.optional(flags & 16, "I", description.default_size)
    return duration, size, fields.optional(flags & 32, "I", description.default_flags)


def _decode_time(body: bytes, offset: int) -> int:
    fields = Fields(body, "tfdt")
    decode_time = fields.one("Q" if fields.one("I") >> 24 else "I")
    if decode_time >= _NEGATIVE:
        raise MalformedBoxes(
            f"the moof box at byte {offset:,} starts before zero, at {decode_time - (1 << 64)}",
            hint="for audio leave out frag_discont and -avoid_negative_ts disabled",
        )
    return decode_time


def _run(body: bytes, defaults: tuple[int, int, int]) -> _Run:
    fields = Fields(body, "trun")
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


def _columns(fields: Fields, flags: int, count: int) -> dict[int, tuple[int, ...]]:
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
