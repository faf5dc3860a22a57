"""Segments: the byte ranges of a file that a player fetches, merged from fragments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

from reelstate.media.formats.box import BROKEN, MalformedBoxes


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """One or more consecutive fragments that a player fetches together. Times are in ticks."""

    offset: int
    size: int
    decode_time: int
    samples: int
    duration: int
    starts_with_sync: bool
    key_size: int
    """Bytes from the start of the segment to the end of its first frame."""
    composition: int = 0
    """The composition offset of the first frame."""
    step: int = 0
    """The duration of each sample; 0 if they differ."""

    @property
    def end(self) -> int:
        return self.offset + self.size

    @property
    def end_time(self) -> int:
        return self.decode_time + self.duration


def split_by_count(fragments: Sequence[Segment], counts: Sequence[int]) -> Iterator[Segment]:
    """Merge fragments into segments with these numbers of samples; raises `MalformedBoxes` if they do not fit."""
    remaining = iter(fragments)
    for number, count in enumerate(counts):
        group: list[Segment] = []
        while (missing := count - sum(fragment.samples for fragment in group)) > 0:
            fragment = next(remaining, None)
            if fragment is None or fragment.samples > missing:
                found = "the file ends" if fragment is None else f"a fragment has {fragment.samples}"
                raise MalformedBoxes(
                    f"segment {number} needs {missing} more samples of {count}, but {found}",
                    hint="the encoder did not place key frames on the grid",
                )
            group.append(fragment)
        yield _merge(group)
    if (rest := next(remaining, None)) is not None:
        raise MalformedBoxes(f"unexpected fragment after the last segment, at byte {rest.offset:,}")


def merge_after(fragments: Sequence[Segment], end: Fraction) -> Iterator[Segment]:
    """Yield one segment per fragment; fragments that begin at tick `end` or later join the last one before it."""
    groups: list[list[Segment]] = []
    for fragment in fragments:
        if groups and fragment.decode_time >= end:
            groups[-1].append(fragment)
        else:
            groups.append([fragment])
    return map(_merge, groups)


def _merge(group: Sequence[Segment]) -> Segment:
    if not group:
        raise MalformedBoxes("a segment has no samples", hint="expected at least one")
    for before, after in pairwise(group):
        if before.end_time != after.decode_time:
            raise MalformedBoxes(f"time gap before byte {after.offset:,}", hint=BROKEN)
    first, last = group[0], group[-1]
    steps = {fragment.step for fragment in group}
    return replace(
        first,
        size=last.end - first.offset,
        samples=sum(fragment.samples for fragment in group),
        duration=last.end_time - first.decode_time,
        step=first.step if len(steps) == 1 else 0,
    )
