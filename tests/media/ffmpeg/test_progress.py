"""How far an ffmpeg is: whatever it writes, numbers come out or nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reelstate.media.ffmpeg.progress import MAX_LINE, MAX_NUMBER, Advance, AdvanceReader
from tests.core.properties import quickly

REPORT = (
    b"frame=42\nfps=12.5\nbitrate= 102.4kbits/s\ntotal_size=1234\nout_time_us=1680000\nout_time_ms=1680000\n"
    b"out_time=00:00:01.680000\nspeed=2.5x\nprogress=continue\n"
)
READ = Advance(42, 1_680_000, 2.5, 1234)


def heard(*pieces: bytes) -> Advance | None:
    reader = AdvanceReader()
    for piece in pieces:
        reader.feed(piece)
    return reader.newest


def test_a_report_is_read_when_it_is_whole() -> None:
    assert heard(REPORT) == READ
    assert heard(REPORT[:-1]) is None
    assert heard(*(bytes([byte]) for byte in REPORT)) == READ


def test_the_newest_report_counts_and_the_last_is_marked() -> None:
    assert heard(REPORT, b"frame=43\nprogress=end\n") == Advance(43, ended=True)


@pytest.mark.parametrize(
    "line, read",
    [
        (b"frame=abc", Advance()),
        (b"frame=-1", Advance()),
        (b"frame=" + b"9" * 5000, Advance()),
        (b"frame=99999999999999999999", Advance()),
        (b"frame=9999999999999999999", Advance(frame=MAX_NUMBER)),
        (b"frame=\xb2", Advance()),
        (b"out_time_us=N/A", Advance()),
        (b"out_time_us=-83333", Advance()),
        (b"out_time_ms=5", Advance()),
        (b"speed=N/A", Advance()),
        (b"speed=nanx", Advance()),
        (b"speed=infx", Advance()),
        (b"speed=  0.5x", Advance(speed=0.5)),
        (b"total_size=N/A\r", Advance()),
        (b"frame=1=2", Advance()),
        (b"\xff\xfe=\x00", Advance()),
        (b"=", Advance()),
        (b"x" * (MAX_LINE * 9), Advance()),
    ],
)
def test_a_hostile_line_is_skipped(line: bytes, read: Advance) -> None:
    assert heard(line + b"\nprogress=continue\n") == read


def test_a_line_without_an_end_takes_no_memory() -> None:
    reader = AdvanceReader()
    for _ in range(100):
        reader.feed(b"frame=1" * 10_000)
    assert len(reader._rest) <= MAX_LINE + 1
    reader.feed(b"\n" + REPORT)
    assert reader.newest == READ


@quickly
@given(st.lists(st.binary()))
def test_no_bytes_are_an_error(pieces: list[bytes]) -> None:
    assert isinstance(heard(*pieces, b"\nprogress=end\n"), Advance)
