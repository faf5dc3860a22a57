"""Frame rates from timestamps, and the size of a Matroska segment."""

from fractions import Fraction
from math import floor
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reelstate.media.sources.probe_child.containers import segment_end
from reelstate.media.sources.probe_child.frame_times import find_rate, grid_rates, is_steady, longest_gop
from tests.media.clips import NTSC

RATES = st.sampled_from([Fraction(24000, 1001), Fraction(25), NTSC, Fraction(30), Fraction(60000, 1001), Fraction(60)])
BASES = st.sampled_from([Fraction(1, 1000), Fraction(1, 90000), Fraction(1, 12800), Fraction(1, 600)])


@given(RATES, BASES, st.integers(100, 3000), st.integers(-500, 100_000))
def test_a_steady_rate_is_found_through_any_rounding(rate: Fraction, base: Fraction, length: int, start: int) -> None:
    timestamps = [start + round(number / rate / base) for number in range(length)]
    assert find_rate(timestamps, base, [])[1] is False
    assert find_rate(timestamps, base, [rate]) == (rate, False)


@given(RATES, BASES, st.integers(60, 1000), st.data())
def test_one_missing_frame_makes_a_rate_variable(
    rate: Fraction, base: Fraction, length: int, data: st.DataObject
) -> None:
    timestamps = [round(number / rate / base) for number in range(length)]
    del timestamps[data.draw(st.integers(1, length - 2))]
    assert not is_steady(timestamps, base, rate)
    assert find_rate(timestamps, base, [rate])[1] is True


def preferred(timestamps: list[int], base: Fraction) -> Fraction:
    """Return the first of the rates that hide the fewest frames."""
    return min(grid_rates(timestamps, base), key=lambda each: each[1])[0]


@given(BASES, st.integers(60, 300), st.randoms(use_true_random=False))
def test_uneven_frames_get_a_rate_that_shows_each_of_them(base: Fraction, length: int, random: Random) -> None:
    """Frames of a phone: about 30 per second, at least 18 ms apart, some missing."""
    times = [Fraction(number, 30) + Fraction(random.randint(-7, 7), 1000) for number in range(length)]
    timestamps = [round(time / base) for number, time in enumerate(times) if number % 7]
    rate = preferred(timestamps, base)
    positions = [floor((timestamp - timestamps[0]) * base * rate + Fraction(1, 2)) for timestamp in timestamps]
    assert (dict(grid_rates(timestamps, base))[rate], len(set(positions))) == (0, len(timestamps))


@pytest.mark.parametrize("rate", [Fraction(24000, 1001), Fraction(25), NTSC, Fraction(30), Fraction(50)])
@pytest.mark.parametrize("jump", [0.008, 0.032, 0.072, 1.5])
def test_a_steady_rate_with_one_jump_stays_that_rate(rate: Fraction, jump: float) -> None:
    base = Fraction(1, 90000)
    first = [round(number / rate / base) for number in range(100)]
    second = [first[-1] + round(jump / base) + timestamp for timestamp in first]
    assert preferred(first + second, base) == rate


def test_frames_that_every_rate_hides_are_counted() -> None:
    timestamps = [0, 1, 2, 40, 67, 68, 99, 120]
    assert min(grid_rates(timestamps, Fraction(1, 1000)), key=lambda each: each[1])[1] == 3


def test_the_longest_gop_may_be_the_last() -> None:
    assert longest_gop([0, 10, 25], Fraction(1, 10), Fraction(3)) == Fraction(3, 2)
    assert longest_gop([0, 10], Fraction(1, 10), Fraction(5)) == Fraction(4)
    assert longest_gop([], Fraction(1, 10), Fraction(5)) is None


@pytest.mark.parametrize(
    "data, end",
    [
        (b"\x1a\x45\xdf\xa3\x82ab\x18\x53\x80\x67\x85hello", 17),
        (b"\x1a\x45\xdf\xa3\x82ab\x18\x53\x80\x67\x01\x00\x00\x00\x00\x00\x00\x05hello", 24),
        (b"\x1a\x45\xdf\xa3\x82ab\x18\x53\x80\x67\x01\xff\xff\xff\xff\xff\xff\xffhello", None),
        (b"\x1a\x45\xdf\xa3", None),
        (b"\x1a\x45\xdf\xa3\x00", None),
        (b"something else", None),
        (b"", None),
    ],
)
def test_the_end_of_a_matroska_segment_is_read(data: bytes, end: int | None) -> None:
    assert segment_end(data) == end
