"""How much of a source's picture or sound is damaged: found by decoding a part again of which ffmpeg reported errors.

ffmpeg conceals errors, repeats frames that are missing, and ends with exit code 0. Its log says that something was
wrong, but not where; so a process of our own (`probe_child`) decodes the same part and compares packets with frames.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from reelstate.core.outcome import Fail
from reelstate.media.records import document_of, record_of
from reelstate.media.sandbox.sandbox import Sandbox
from reelstate.media.sources.probe import SANDBOX, WHOLE_FILE_LIMITS, ProbeLimits, run_child

MAX_SHOWN: Final = 3
"""Spans that a message names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """What is damaged of a stream; times count from its first frame."""

    errors: int = 0
    """Packets that the decoder refused."""
    corrupt: int = 0
    """Frames in which it concealed errors."""
    seconds: Fraction = Fraction(0)
    """How long the picture stands still or is wrong, or the sound is missing."""
    spans: tuple[tuple[Fraction, Fraction], ...] = ()

    def __bool__(self) -> bool:
        return self.seconds > 0

    def to_json(self) -> dict[str, Any]:
        document: dict[str, Any] = document_of(self)
        return document

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Damage:
        return record_of(cls, document)


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
    """Decode a stream of a file between two times of it; `origin` is the time that spans are counted from."""
    times = {"start": str(start), "end": str(end), "step": str(step)}
    facts = (await run_child("decode", path, limits, sandbox, stream=stream, **times)).facts
    spans = tuple((Fraction(first) - origin, Fraction(last) - origin) for first, last in facts["spans"])
    return Damage(errors=facts["errors"], corrupt=facts["corrupt"], seconds=Fraction(facts["seconds"]), spans=spans)


def total(parts: Iterable[Damage]) -> Damage:
    """The damage of all parts of a stream; spans that meet where two parts do are one."""
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


def require_tolerable(damage: Damage, duration: Fraction, max_damage: float, what: str) -> None:
    """Raise `Fail` if more of a stream is damaged than its profile allows; another attempt finds the same."""
    if damage.seconds > duration * Fraction(str(max_damage)):
        raise Fail(
            f"the source is damaged: {described(damage, duration, what)}; at most {max_damage:.0%} is allowed "
            "(submit an undamaged file, or raise max_damage in the profile to publish it as degraded)"
        )


def described(damage: Damage, duration: Fraction, what: str) -> str:
    """Where a stream is damaged and how much, in one sentence."""
    shown = ", ".join(f"{_clock(first)}–{_clock(last)}" for first, last in damage.spans[:MAX_SHOWN])
    more = len(damage.spans) - MAX_SHOWN
    rest = f" and {more} more places" if more > 0 else ""
    share = float(damage.seconds / duration) if duration else 1.0
    return f"{what}: {float(damage.seconds):.2f} s of {float(duration):.2f} s ({share:.1%}) damaged at {shown}{rest}"


def _clock(seconds: Fraction) -> str:
    minutes, rest = divmod(max(float(seconds), 0.0), 60)
    return f"{int(minutes)}:{rest:05.2f}"
