"""The DASH manifest: valid, exact, and over the same bytes as the playlists."""

from dataclasses import replace
from fractions import Fraction
from xml.etree import ElementTree as ET

import pytest

from reelstate.media import dash
from reelstate.media.dash import MalformedManifest, Representation
from reelstate.media.hls import Part

PARTS = (
    Part("c0.mp4", 700, 1000, Fraction(60060, 30000)),
    Part("c0.mp4", 1700, 3000, Fraction(60060, 30000)),
    Part("c1.mp4", 700, 500, Fraction(15015, 30000)),
)
RUNG = Representation(
    name="720p", init_uri="720p-init.mp4", timescale=30000, parts=PARTS, bandwidth=12000, codec="avc1.64001f",
    width=1280, height=720, frame_rate=Fraction(30000, 1001),
)  # fmt: skip
SOUND = Representation(
    name="0", init_uri="0-init.mp4", timescale=48000, parts=(Part("a.mp4", 9, 99, Fraction(96256, 48000)),),
    bandwidth=128000, codec="mp4a.40.2", channels=2, sample_rate=48000, language="en",
)  # fmt: skip
DURATION = sum((part.duration for part in PARTS), Fraction(0))
SPACE = {"": dash.NAMESPACE}


def tree(text: str) -> ET.Element:
    return ET.fromstring(text)  # noqa: S314 - written by the line before


def test_what_is_written_is_read_back() -> None:
    found = dash.parse(dash.manifest(DURATION, [RUNG], [SOUND]))
    assert found.duration == DURATION
    assert found.representations == {"720p": RUNG, "0": replace(SOUND, channels=0, language="")}


def test_segments_are_exact_in_ticks() -> None:
    root = tree(dash.manifest(DURATION, [RUNG]))
    entries = [entry.attrib for entry in root.iterfind(".//SegmentTimeline/S", SPACE)]
    assert entries == [{"t": "0", "d": "60060", "r": "1"}, {"d": "15015"}]
    ranges = [entry.get("mediaRange") for entry in root.iterfind(".//SegmentURL", SPACE)]
    assert ranges == ["700-1699", "1700-4699", "700-1199"]
    assert root.get("mediaPresentationDuration") == "PT4.504500S"
    assert root.get("type") == "static"


def test_elements_stand_in_the_order_of_the_schema() -> None:
    root = tree(dash.manifest(DURATION, [RUNG], [SOUND]))
    segments = root.find(".//SegmentList", SPACE)
    assert segments is not None
    assert [child.tag.partition("}")[2] for child in segments][:3] == [
        "Initialization",
        "SegmentTimeline",
        "SegmentURL",
    ]


def test_a_codec_has_a_set_of_its_own() -> None:
    hevc = replace(RUNG, name="720p-hevc", codec="hvc1.1.6.L93.90")
    root = tree(dash.manifest(DURATION, [RUNG, hevc, replace(RUNG, name="360p")]))
    sets = [[each.get("id") for each in place] for place in root.iterfind(".//AdaptationSet", SPACE)]
    assert sets == [["720p", "360p"], ["720p-hevc"]]


def test_captions_and_tiles_have_sets_too() -> None:
    captions = dash.Captions(name="0", uri="captions & more.vtt", language="de")
    tiles = dash.Tiles(
        pattern="sprites-$Number$.jpg", first=0, sheet_duration=Fraction(200), columns=10, rows=10, width=1600,
        height=900, bandwidth=9000,
    )  # fmt: skip
    root = tree(dash.manifest(DURATION, [RUNG], captions=[captions], tiles=tiles))
    assert root.findtext(".//BaseURL", namespaces=SPACE) == "captions & more.vtt"
    template = root.find(".//SegmentTemplate", SPACE)
    assert template is not None
    assert template.attrib == {
        "timescale": "1", "duration": "200", "startNumber": "0", "media": "sprites-$Number$.jpg",
    }  # fmt: skip
    tile = root.find(".//EssentialProperty", SPACE)
    assert tile is not None
    assert tile.get("value") == "10x10"


def test_a_segment_between_two_ticks_is_refused() -> None:
    odd = replace(RUNG, parts=(Part("c.mp4", 0, 1, Fraction(1, 7)),))
    with pytest.raises(MalformedManifest, match=r"720p: .* no whole number of ticks"):
        dash.manifest(DURATION, [odd])


GOOD = dash.manifest(DURATION, [RUNG])


@pytest.mark.parametrize(
    "text, reason",
    [
        ("", "can't be read"),
        (GOOD[:-10], "can't be read"),
        (GOOD.replace("<MPD", '<!DOCTYPE a [<!ENTITY b "c">]><MPD'), "declaration"),
        (GOOD.replace('timescale="30000"', 'timescale="0"'), "can't be read"),
        (GOOD.replace('timescale="30000"', ""), "can't be read"),
        (GOOD.replace('mediaRange="700-', 'mediaRange="'), "can't be read"),
        (GOOD.replace('<S d="15015" />', ""), "can't be read"),
        (GOOD.replace('r="1"', 'r="99999999999"'), "timeline"),
        (GOOD.replace('r="1"', 'r="-1"'), "timeline"),
        (GOOD.replace('"PT4.504500S"', '"P1D"'), "a duration of 'P1D'"),
    ],
)
def test_a_manifest_that_is_not_ours_is_refused(text: str, reason: str) -> None:
    assert text != GOOD
    with pytest.raises(MalformedManifest, match=reason):
        dash.parse(text)
