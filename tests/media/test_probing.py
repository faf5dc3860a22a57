"""What is computed of the times and bytes of a source, without one."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reelstate.media.probing import is_steady, longest_gop, segment_end, settled_rate
from tests.media.clips import NTSC

RATES = st.sampled_from([Fraction(24000, 1001), Fraction(25), NTSC, Fraction(30), Fraction(60000, 1001), Fraction(60)])
BASES = st.sampled_from([Fraction(1, 1000), Fraction(1, 90000), Fraction(1, 12800), Fraction(1, 600)])


@given(RATES, BASES, st.integers(100, 3000), st.integers(-500, 100_000))
def test_a_steady_rate_is_found_through_any_rounding(rate: Fraction, base: Fraction, length: int, start: int) -> None:
    stamps = [start + round(number / rate / base) for number in range(length)]
    assert settled_rate(stamps, base, [])[1] is False
    assert settled_rate(stamps, base, [rate]) == (rate, False)


@given(RATES, BASES, st.integers(60, 1000), st.data())
def test_one_missing_frame_makes_a_rate_vary(rate: Fraction, base: Fraction, length: int, data: st.DataObject) -> None:
    stamps = [round(number / rate / base) for number in range(length)]
    del stamps[data.draw(st.integers(1, length - 2))]
    assert not is_steady(stamps, base, rate)
    assert settled_rate(stamps, base, [rate])[1] is True


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
