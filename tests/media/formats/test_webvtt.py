"""Cues for thumbnails, and captions of untrusted sources."""

import time
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reelstate.media.formats import webvtt
from reelstate.media.formats.webvtt import MalformedCaptions, Sheets
from tests.core.properties import quickly

SHEETS = Sheets(uris=["s-0.jpg", "s-1.jpg"], count=5, interval=Fraction(2), columns=2, rows=2, width=160, height=90)


def test_every_thumbnail_has_its_time_and_area() -> None:
    assert webvtt.sprite_track(SHEETS, Fraction(19, 2)) == (
        "WEBVTT\n\n"
        "00:00:00.000 --> 00:00:02.000\ns-0.jpg#xywh=0,0,160,90\n\n"
        "00:00:02.000 --> 00:00:04.000\ns-0.jpg#xywh=160,0,160,90\n\n"
        "00:00:04.000 --> 00:00:06.000\ns-0.jpg#xywh=0,90,160,90\n\n"
        "00:00:06.000 --> 00:00:08.000\ns-0.jpg#xywh=160,90,160,90\n\n"
        "00:00:08.000 --> 00:00:09.500\ns-1.jpg#xywh=0,0,160,90\n"
    )


def test_the_last_thumbnail_lasts_until_the_end() -> None:
    assert "00:00:08.000 --> 00:00:30.000\n" in webvtt.sprite_track(SHEETS, Fraction(30))
    assert webvtt.sprite_track(SHEETS, Fraction(4)).count("-->") == 2


def test_the_thumbnail_cues_are_valid_captions() -> None:
    assert list(webvtt.find_faults(webvtt.sprite_track(SHEETS, Fraction(9)).encode())) == []


@pytest.mark.parametrize(
    "seconds, text", [("0", "00:00:00.000"), ("3661.0005", "01:01:01.000"), ("359999.9996", "100:00:00.000")]
)
def test_times_are_written_in_full(seconds: str, text: str) -> None:
    assert webvtt.format_timestamp(Fraction(seconds)) == text


def clean(body: str) -> str:
    return webvtt.clean_captions(f"WEBVTT\n\n{body}".encode()).text.removeprefix("WEBVTT\n\n")


CUE = "00:00:01.000 --> 00:00:02.000"


@pytest.mark.parametrize(
    "body, kept",
    [
        (f"{CUE}\nHello\n<i>you</i>", f"{CUE}\nHello\n<i>you</i>\n"),
        (f"intro\n{CUE}\nHello", f"{CUE}\nHello\n"),
        ("00:01.000 --> 00:02.000\nShort", f"{CUE}\nShort\n"),
        (
            f"{CUE} align:start position:10%,line-left onclick:x\nSet",
            f"{CUE} align:start position:10%,line-left\nSet\n",
        ),
        (f"STYLE\n::cue {{}}\n\nNOTE a --> b\n\n{CUE}\nHello", f"{CUE}\nHello\n"),
        (
            f"{CUE}\n<script>x</script> 1 < 2 <c.red>a</c>",
            f"{CUE}\n&lt;script&gt;x&lt;/script&gt; 1 &lt; 2 <c.red>a</c>\n",
        ),
        (f"{CUE}\n<v Ann>Hi</v> <00:00:01.500>now", f"{CUE}\n<v Ann>Hi</v> <00:00:01.500>now\n"),
        (f"{CUE}\r\nA\x00\x07B\r\n", f"{CUE}\nAB\n"),
    ],
)
def test_captions_keep_valid_cues_and_tags(body: str, kept: str) -> None:
    assert clean(body) == kept


@pytest.mark.parametrize(
    "cue",
    [
        "00:00:02.000 --> 00:00:01.000\nback",
        "00:00:01,000 --> 00:00:02,000\ncomma",
        "00:00:61.000 --> 00:00:62.000\nseconds",
        f"{CUE}",
        f"a\nb\n{CUE}\ntwo names",
        f"{CUE}\n{'long ' * 1000}",
    ],
)
def test_an_invalid_cue_is_left_out_and_counted(cue: str) -> None:
    data = f"WEBVTT\n\n{cue}\n\n{CUE}\ngood".encode()
    found = webvtt.clean_captions(data)
    assert (found.cues, found.left_out) == (1, 1)
    assert found.text == f"WEBVTT\n\n{CUE}\ngood\n"
    assert list(webvtt.find_faults(data)) == ["1 of 2 cues are not valid WebVTT"]


@pytest.mark.parametrize(
    "body, kept",
    [
        (f"{CUE}\na --> b", f"{CUE}\na --&gt; b\n"),
        (f"{CUE}\n00:00:03.000 --> 00:00:04.000\nx", f"{CUE}\n00:00:03.000 --&gt; 00:00:04.000\nx\n"),
        (f"{CUE}\nfirst\n\nsecond\n\nNOTE x\n\n{CUE}\nnext", f"{CUE}\nfirst\nsecond\n\n{CUE}\nnext\n"),
        (f"{CUE}\nm 0 0 l 100 0 100 100 b 1 2 3 4 5.5 -6\nHello", f"{CUE}\nHello\n"),
        (f"{CUE}\nm 5 for m 6", f"{CUE}\nm 5 for m 6\n"),
    ],
    ids=["arrow", "arrow between times", "empty line", "drawing", "no drawing"],
)
def test_text_with_an_arrow_or_an_empty_line_is_kept_and_drawings_are_not(body: str, kept: str) -> None:
    assert clean(body) == kept


@pytest.mark.parametrize("data", [b"", b"WEBVTTX", b"1\n00:00:01,000 --> 00:00:02,000\nSubRip", b"\x89PNG"])
def test_a_file_that_is_not_webvtt_is_refused(data: bytes) -> None:
    with pytest.raises(MalformedCaptions, match="does not begin with WEBVTT"):
        webvtt.clean_captions(data)


def test_captions_of_many_megabytes_are_refused() -> None:
    with pytest.raises(MalformedCaptions, match="captions have"):
        webvtt.clean_captions(b"WEBVTT" + bytes(webvtt.MAX_BYTES))


def test_an_unclosed_tag_takes_linear_time() -> None:
    began = time.process_time()
    assert clean(f"{CUE}\n<c{'.a' * 24}&") == f"{CUE}\n&lt;c{'.a' * 24}&\n"
    assert time.process_time() - began < 5, "it doubles with every class, and holds up the whole worker"


def test_a_byte_order_mark_does_not_matter() -> None:
    assert webvtt.clean_captions(b"\xef\xbb\xbfWEBVTT - title\n").text == "WEBVTT\n"


@quickly
@given(st.text(alphabet=st.sampled_from("<>/bi v0123:.\n&-"), max_size=60))
def test_cleaning_is_idempotent(text: str) -> None:
    once = webvtt.clean_captions(f"WEBVTT\n\n{CUE}\n{text}".encode())
    twice = webvtt.clean_captions(once.text.encode())
    assert twice.text == once.text
    assert not twice.left_out
