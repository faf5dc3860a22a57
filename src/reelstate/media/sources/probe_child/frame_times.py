"""Frame rates and GOP lengths, computed from the timestamps of frames. Timestamps are ticks of `time_base`, sorted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Final

STANDARD_RATES: Final = (
    *(Fraction(24_000, 1001), Fraction(24), Fraction(25), Fraction(30_000, 1001), Fraction(30), Fraction(48)),
    *(Fraction(50), Fraction(60_000, 1001), Fraction(60), Fraction(15), Fraction(12), Fraction(10), Fraction(100)),
    *(Fraction(120_000, 1001), Fraction(120), Fraction(240)),
)
SLOW_RATES: Final = (Fraction(15), Fraction(12), Fraction(10))
GRID_RATES: Final = (*sorted({*STANDARD_RATES} - {*SLOW_RATES, Fraction(240)}), *SLOW_RATES)
"""Constant rates for a source of variable rate; slow ones for profiles that allow no other."""
MAX_IRREGULAR: Final = Fraction(1, 100)
"""Largest share of irregular steps between frames in a source that keeps to its usual rate."""
ROUNDING: Final = Fraction(1, 10_000)
"""Tolerance of a stated rate; rates that differ by 1001/1000 are ten times as far apart."""


def candidate_rates(stated: Iterable[Fraction | None]) -> list[Fraction]:
    """Return the stated rates, preceded by the standard rates that they are rounded from."""
    rates = [rate for rate in stated if rate]
    standard = [each for rate in rates for each in STANDARD_RATES if abs(each - rate) <= rate * ROUNDING]
    return [*standard, *rates]


def find_rate(timestamps: Sequence[int], time_base: Fraction, candidates: Iterable[Fraction]) -> tuple[Fraction, bool]:
    """Return the rate at which all frames are on time, or else the average, and whether the rate is variable."""
    steps, span = len(timestamps) - 1, (timestamps[-1] - timestamps[0]) * time_base
    if steps < 1 or span <= 0:
        return next(iter(candidates), Fraction(25)), False
    average = steps / span
    near = [rate for rate in STANDARD_RATES if abs(rate - average) * 50 <= average]
    for rate in (*candidates, *near, average):
        if is_steady(timestamps, time_base, rate):
            return rate, False
    return average, True


def grid_rates(timestamps: Sequence[int], time_base: Fraction) -> list[tuple[Fraction, int]]:
    """Return constant rates for a source of variable rate, best first, each with the number of frames it hides.

    Multiples of the usual rate come first, because they show frames evenly, and slow rates last. A source that keeps to
    its usual rate except for a few jumps, for example between two joined recordings, gets no rate above it.
    """
    steps = sorted(later - earlier for earlier, later in pairwise(timestamps))
    median = 1 / (max(steps[len(steps) // 2], 1) * time_base)
    usual = min(GRID_RATES, key=lambda rate: abs(rate - median))
    tolerance = max(time_base, 1 / usual / 20)
    irregular = sum(abs(step * time_base - 1 / usual) > tolerance for step in steps)
    fastest = usual if irregular <= 1 + MAX_IRREGULAR * len(steps) else max(GRID_RATES)
    rates = [rate for rate in GRID_RATES if rate <= fastest]
    rates.sort(key=lambda rate: (rate in SLOW_RATES, (rate / usual).denominator != 1, rate))
    return [(rate, hidden_frames(timestamps, time_base, rate)) for rate in rates]


def hidden_frames(timestamps: Sequence[int], time_base: Fraction, rate: Fraction) -> int:
    """Count the frames that share their position on a grid of this rate with another."""
    tick, step = 2 * time_base.numerator * rate.numerator, time_base.denominator * rate.denominator
    positions = [((timestamp - timestamps[0]) * tick + step) // (2 * step) for timestamp in timestamps]
    return sum(later == earlier for earlier, later in pairwise(positions))


def is_steady(timestamps: Sequence[int], time_base: Fraction, rate: Fraction) -> bool:
    """Return whether frames come at this rate, within one tick or a twentieth of a frame."""
    tick, step = time_base.numerator * rate.numerator, time_base.denominator * rate.denominator
    latest = earliest = timestamps[0] * tick
    tolerance = max(tick, step // 20)
    for number, timestamp in enumerate(timestamps):
        offset = timestamp * tick - number * step
        if offset > latest:
            latest = offset
        elif offset < earliest:
            earliest = offset
        if latest - earliest > tolerance:
            return False
    return True


def longest_gop(key_frames: Sequence[int], time_base: Fraction, end: Fraction) -> Fraction | None:
    """Return the longest time from one key frame to the next, or to the end."""
    if not key_frames:
        return None
    ordered = sorted(key_frames)
    gaps = [(later - earlier) * time_base for earlier, later in pairwise(ordered)]
    return max([*gaps, end - ordered[-1] * time_base])
