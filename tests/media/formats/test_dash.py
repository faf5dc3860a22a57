"""DASH manifests: valid, exact, and over the same bytes as the playlists."""

import posixpath
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from urllib.parse import unquote
from xml.etree import ElementTree as ET

import pytest

from reelstate.media.formats import dash
from reelstate.media.formats.dash import MalformedManifest, Representation, Tiles
from reelstate.media.formats.hls import Part
from reelstate.media.formats.relocate import relocate
from tests.media.packaging import mpd

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


def test_a_written_manifest_is_parsed_back() -> None:
    found = dash.parse_manifest(dash.build_manifest(DURATION, [RUNG], [SOUND]))
    assert found.duration == DURATION
    last = replace(PARTS[-1], duration=PARTS[0].duration)  # a manifest has one length for all
    rung = replace(RUNG, parts=(*PARTS[:-1], last))
    assert found.representations == {"720p": rung, "0": replace(SOUND, channels=0, language="")}


def test_segments_are_exact_in_ticks() -> None:
    root = tree(dash.build_manifest(DURATION, [RUNG]))
    assert [entry.attrib for entry in root.iterfind(".//SegmentList", SPACE)] == [
        {"timescale": "30000", "duration": "60060"}
    ]
    assert root.find(".//SegmentTimeline", SPACE) is None  # several players stop where a list has one
    ranges = [entry.get("mediaRange") for entry in root.iterfind(".//SegmentURL", SPACE)]
    assert ranges == ["700-1699", "1700-4699", "700-1199"]
    assert root.get("mediaPresentationDuration") == "PT4.504500S"
    assert root.get("type") == "static"


def test_elements_are_in_the_order_of_the_schema() -> None:
    root = tree(dash.build_manifest(DURATION, [RUNG], [SOUND]))
    segments = root.find(".//SegmentList", SPACE)
    assert segments is not None
    assert [child.tag.partition("}")[2] for child in segments] == ["Initialization", *["SegmentURL"] * 3]


def test_each_codec_has_an_adaptation_set() -> None:
    hevc = replace(RUNG, name="720p-hevc", codec="hvc1.1.6.L93.90")
    root = tree(dash.build_manifest(DURATION, [RUNG, hevc, replace(RUNG, name="360p")]))
    places = root.findall(".//AdaptationSet", SPACE)
    sets = [[each.get("id") for each in place.iterfind("Representation", SPACE)] for place in places]
    assert [place.get("id") for place in places] == ["0", "1"], "numbers, by the schema"
    assert sets == [["720p", "360p"], ["720p-hevc"]]


def test_captions_and_tiles_have_adaptation_sets() -> None:
    captions = dash.CaptionsTrack(name="captions-0", uri="captions%20&more.vtt", language="de")
    tiles = dash.Tiles(
        pattern="sprites-$Number$.jpg", first=0, sheet_duration=Fraction(200), columns=10, rows=10, width=1600,
        height=900, bandwidth=9000,
    )  # fmt: skip
    text = dash.build_manifest(DURATION, [RUNG], [SOUND], captions=[captions], tiles=tiles)
    assert mpd.faults(text) == []
    root = tree(text)
    assert root.findtext(".//BaseURL", namespaces=SPACE) == "captions%20&more.vtt"
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
    with pytest.raises(MalformedManifest, match=r"720p: .* whole number of ticks"):
        dash.build_manifest(DURATION, [odd])


def test_segments_of_different_lengths_are_refused() -> None:
    uneven = replace(RUNG, parts=(PARTS[0], PARTS[2], PARTS[1]))
    with pytest.raises(MalformedManifest, match="720p: its segments differ in duration"):
        dash.build_manifest(DURATION, [uneven])


PATHS = ("versions/8/package/0/1/manifest.mpd", "versions/8/manifest.mpd", "videos/7/manifest.mpd")


def referenced_files(text: str, path: str) -> set[tuple[str, str]]:
    """Return the files that a manifest at a path refers to, by the standard and as ffmpeg resolves them.

    By the standard, BaseURL elements are steps of one way, the outermost first; ffmpeg takes the innermost alone.
    """
    folder, found = posixpath.dirname(path), set()

    def add(steps: tuple[str, ...], innermost: tuple[str, ...], uri: str) -> None:
        ways = [posixpath.normpath(posixpath.join(folder, *way, uri)) for way in (steps, innermost)]
        found.add((unquote(ways[0]), unquote(ways[1])))

    def look(element: ET.Element, bases: tuple[str, ...]) -> None:
        for uri in filter(None, map(element.get, ("media", "sourceURL"))):
            add(bases, bases[-1:], uri)
        here = [base.text or "" for base in element.iterfind("BaseURL", SPACE)]
        assert len(here) <= 1, "several are alternatives to each other"
        for uri in here:
            if not uri.endswith("/"):
                add(bases, (), uri)
        for child in element:
            look(child, (*bases, *here))

    look(tree(text), ())
    return found


def test_a_relocated_manifest_refers_to_the_same_files() -> None:
    text = dash.CaptionsTrack(name="t", uri="../../../captions/0/1/captions.vtt")
    tiles = Tiles(
        pattern="../../../thumbnails/0/1/sprites-$Number$.jpg", first=1, sheet_duration=Fraction(100), columns=10,
        rows=10, width=1600, height=900, bandwidth=1000,
    )  # fmt: skip
    written = dash.build_manifest(DURATION, [RUNG], [SOUND], [text], tiles)
    expected = referenced_files(written, PATHS[0])
    assert ("versions/8/captions/0/1/captions.vtt",) * 2 in expected
    for old, new in pairwise(PATHS):
        written = relocate(written, old, new)
        assert referenced_files(written, new) == expected, new
        assert mpd.faults(written) == []


def test_a_manifest_with_an_outer_base_is_relocated() -> None:
    """Ffmpeg ignores an outer BaseURL for captions."""
    text = dash.CaptionsTrack(name="t", uri="../../../captions/0/1/captions.vtt")
    written = dash.build_manifest(DURATION, [RUNG], captions=[text])
    earlier = written.replace("  <Period", "  <BaseURL>package/0/1/</BaseURL>\n  <Period")
    assert referenced_files(relocate(earlier, *PATHS[1:]), PATHS[2]) == referenced_files(written, PATHS[0])


def test_a_base_keeps_quoted_characters() -> None:
    text = dash.CaptionsTrack(name="t", uri="x%20&%20y.vtt")
    once = relocate(
        dash.build_manifest(DURATION, [RUNG], captions=[text]), "a b/1 & 2/manifest.mpd", "a b/manifest.mpd"
    )
    twice = tree(relocate(once, "a b/manifest.mpd", "c/manifest.mpd"))
    bases = [base.text for base in twice.iterfind(".//BaseURL", SPACE)]
    assert bases == ["../a%20b/1%20%26%202/", "../a%20b/1%20%26%202/x%20%26%20y.vtt"]


GOOD = dash.build_manifest(DURATION, [RUNG])


@pytest.mark.parametrize(
    "text, reason",
    [
        ("", "can't be read"),
        (GOOD[:-10], "can't be read"),
        (GOOD.replace("<MPD", '<!DOCTYPE a [<!ENTITY b "c">]><MPD'), "declaration"),
        (GOOD.replace('timescale="30000"', 'timescale="0"'), "can't be read"),
        (GOOD.replace('timescale="30000"', ""), "can't be read"),
        (GOOD.replace('mediaRange="700-', 'mediaRange="'), "can't be read"),
        (GOOD.replace('duration="60060"', ""), "can't be read"),
        (GOOD.replace('duration="60060"', 'duration="-"'), "can't be read"),
        (GOOD.replace('"PT4.504500S"', '"P1D"'), "invalid duration 'P1D'"),
    ],
)
def test_any_other_manifest_is_refused(text: str, reason: str) -> None:
    assert text != GOOD
    with pytest.raises(MalformedManifest, match=reason):
        dash.parse_manifest(text)
