"""Measures how much of a source's video or audio is damaged, by decoding the part again for which ffmpeg logged errors.

ffmpeg conceals errors, repeats missing frames, and exits with 0. Its log says that something is wrong, but not where.
So a child process (`probe_child`) decodes the same part and compares packets with frames.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Final

from reelstate.core.outcome import Fail
from reelstate.media.records import Count, JsonRecord, record_of
from reelstate.media.sandbox.sandbox import Sandbox
from reelstate.media.sources.probe import SANDBOX, WHOLE_FILE_LIMITS, ProbeLimits, run_child

MAX_SHOWN: Final = 3
"""Spans that a message names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage(JsonRecord):
    """The damage of a stream; times count from its first frame."""

    errors: int = 0
    """Packets that the decoder refused."""
    corrupt: int = 0
    """Frames in which it concealed errors."""
    seconds: Fraction = Fraction(0)
    """How long the picture is frozen or wrong, or the audio is missing."""
    spans: tuple[tuple[Fraction, Fraction], ...] = ()

    def __bool__(self) -> bool:
        return self.seconds > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Decoded:
    """The answer of the child process; times are those of the file."""

    errors: Count
    corrupt: Count
    seconds: Fraction
    spans: tuple[tuple[Fraction, Fraction], ...]


async def find_damage(
    path: Path,
    stream: int,
    *,
    start: Fraction,
    end: Fraction,
    origin: Fraction,
    step: Fraction,
    limits: ProbeLimits = WHOLE_FILE_LIMITS,
    sandbox: Sandbox = SANDBOX,
) -> Damage:
    """Decode a stream of a file between two times of it; spans count from `origin`."""
    times = {"start": str(start), "end": str(end), "step": str(step)}
    found = record_of(_Decoded, (await run_child("decode", path, limits, sandbox, stream=stream, **times)).facts)
    spans = tuple((first - origin, last - origin) for first, last in found.spans)
    return Damage(errors=found.errors, corrupt=found.corrupt, seconds=found.seconds, spans=spans)


def total(parts: Iterable[Damage]) -> Damage:
    """Add up the damage of all parts of a stream; adjacent spans are joined."""
    every = list(parts)
    return Damage(
        errors=sum(part.errors for part in every),
        corrupt=sum(part.corrupt for part in every),
        seconds=sum((part.seconds for part in every), Fraction(0)),
        spans=tuple(_joined(sorted(span for part in every for span in part.spans))),
    )


def _joined(spans: Iterable[tuple[Fraction, Fraction]]) -> Iterator[tuple[Fraction, Fraction]]:
    held: tuple[Fraction, Fraction] | None = None
    for span in spans:
        if held is not None and span[0] <= held[1]:
            held = (held[0], max(held[1], span[1]))
            continue
        if held is not None:
            yield held
        held = span
    if held is not None:
        yield held


def require_tolerable(damage: Damage, duration: Fraction, max_damage: float, track: str) -> None:
    """Raise `Fail` if more of a track is damaged than the profile allows; another attempt would find the same."""
    if damage.seconds > duration * Fraction(str(max_damage)):
        raise Fail(
            f"the source is damaged: {describe(damage, duration, track)}; at most {max_damage:.0%} is allowed "
            "(submit an undamaged file, or raise max_damage in the profile to publish it as degraded)"
        )


def describe(damage: Damage, duration: Fraction, track: str) -> str:
    """Return in one sentence where a track is damaged, and how much."""
    shown = ", ".join(f"{_clock(first)}–{_clock(last)}" for first, last in damage.spans[:MAX_SHOWN])
    more = len(damage.spans) - MAX_SHOWN
    rest = f" and {more} more spans" if more > 0 else ""
    share = float(damage.seconds / duration) if duration else 1.0
    return f"{track}: {float(damage.seconds):.2f} s of {float(duration):.2f} s ({share:.1%}) damaged at {shown}{rest}"


def _clock(seconds: Fraction) -> str:
    minutes, rest = divmod(max(float(seconds), 0.0), 60)
    return f"{int(minutes)}:{rest:05.2f}"
