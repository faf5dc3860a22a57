"""Segments: the spans of a file that a player fetches, and how fragments are joined to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

from reelstate.media.formats.box import BROKEN, MalformedBoxes


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


def by_count(fragments: Sequence[Segment], counts: Sequence[int]) -> Iterator[Segment]:
    """Segments of so many samples each."""
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


def ending_by(fragments: Sequence[Segment], end: Fraction) -> Iterator[Segment]:
    """A segment for each fragment; those that begin at this tick or later belong to the last one before it."""
    groups: list[list[Segment]] = []
    for fragment in fragments:
        if groups and fragment.decode_time >= end:
            groups[-1].append(fragment)
        else:
            groups.append([fragment])
    return map(_joined, groups)


def _joined(group: Sequence[Segment]) -> Segment:
    if not group:
        raise MalformedBoxes("a segment of no samples", hint="every segment has one at least")
    for before, after in pairwise(group):
        if before.end_time != after.decode_time:
            raise MalformedBoxes(f"a gap in time before byte {after.offset:,}", hint=BROKEN)
    first, last = group[0], group[-1]
    steps = {fragment.step for fragment in group}
    return replace(
        first,
        size=last.end - first.offset,
        samples=sum(fragment.samples for fragment in group),
        duration=last.end_time - first.decode_time,
        step=first.step if len(steps) == 1 else 0,
    )
