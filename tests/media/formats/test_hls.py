"""HLS playlists are exact to the microsecond, and parsed back as written."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reelstate.media.formats import hls, hls_parser
from reelstate.media.formats.hls import MalformedPlaylist, Part, Rates, Rendition, Variant
from tests.core.properties import quickly

PARTS = [
    Part("../c0.mp4", 700, 1000, Fraction(60060, 30000), 300),
    Part("../c0.mp4", 1700, 3000, Fraction(60060, 30000), 400),
    Part("../c1.mp4", 700, 500, Fraction(15015, 30000), 200),
]
VARIANT = Variant(
    uri="video/720p.m3u8", codec="avc1.64001f", width=1280, height=720, frame_rate=Fraction(30000, 1001),
    rates=Rates(3_000_000, 2_000_000), key_frames_uri="iframe/720p.m3u8", key_frames=Rates(500_000, 400_000),
)  # fmt: skip
ENGLISH = Rendition(
    uri="audio/0.m3u8", name="English", language="en", default=True, codec="mp4a.40.2", channels=2,
    rates=Rates(130_000, 128_000),
)  # fmt: skip


def test_a_media_playlist_follows_the_standard() -> None:
    assert hls.media_playlist(PARTS, "../720p-init.mp4") == (
        "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:2\n#EXT-X-MEDIA-SEQUENCE:0\n"
        "#EXT-X-INDEPENDENT-SEGMENTS\n#EXT-X-PLAYLIST-TYPE:VOD\n"
        '#EXT-X-MAP:URI="../720p-init.mp4"\n'
        "#EXTINF:2.002000,\n#EXT-X-BYTERANGE:1000@700\n../c0.mp4\n"
        "#EXTINF:2.002000,\n#EXT-X-BYTERANGE:3000@1700\n../c0.mp4\n"
        "#EXTINF:0.500500,\n#EXT-X-BYTERANGE:500@700\n../c1.mp4\n"
        "#EXT-X-ENDLIST\n"
    )


def test_a_growing_playlist_is_only_appended_to() -> None:
    grown = [hls.media_playlist(PARTS[:count], "i.mp4", kind="EVENT", ended=False, target=6) for count in range(1, 4)]
    assert "#EXT-X-PLAYLIST-TYPE:EVENT\n#EXT-X-START:TIME-OFFSET=0\n" in grown[0]
    assert "#EXT-X-TARGETDURATION:6\n" in grown[0]
    assert "ENDLIST" not in grown[-1]
    assert grown[1].startswith(grown[0])
    assert grown[2].startswith(grown[1])
    assert hls.media_playlist(PARTS, "i.mp4", kind="EVENT", target=6) == grown[2] + "#EXT-X-ENDLIST\n"


def test_a_key_frame_playlist_has_the_first_frames() -> None:
    found = hls_parser.parse_media_playlist(hls.key_frame_playlist(PARTS, "i.mp4"))
    assert found.key_frames_only
    assert [(part.offset, part.size) for part in found.parts] == [(700, 300), (1700, 400), (700, 200)]


def test_a_captions_playlist_has_one_file() -> None:
    found = hls_parser.parse_media_playlist(hls.captions_playlist("0.vtt", Fraction(61, 3)))
    assert found.parts == (Part("0.vtt", 0, 0, Fraction("20.333333")),)
    assert found.target == 21


def test_a_master_playlist_follows_the_standard() -> None:
    captions = Rendition(uri="captions/0.m3u8", name="Deutsch", language="de", forced=True)
    assert hls.master_playlist([VARIANT], [ENGLISH], [captions]) == (
        "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-INDEPENDENT-SEGMENTS\n"
        '#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="audio",NAME="English",LANGUAGE="en",DEFAULT=YES,AUTOSELECT=YES,'
        'CHANNELS="2",URI="audio/0.m3u8"\n'
        '#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="captions",NAME="Deutsch",LANGUAGE="de",DEFAULT=NO,AUTOSELECT=YES,'
        'FORCED=YES,URI="captions/0.m3u8"\n'
        '#EXT-X-STREAM-INF:BANDWIDTH=3130000,AVERAGE-BANDWIDTH=2128000,CODECS="avc1.64001f,mp4a.40.2",'
        'RESOLUTION=1280x720,FRAME-RATE=29.970,AUDIO="audio",SUBTITLES="captions"\n'
        "video/720p.m3u8\n"
        '#EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=500000,AVERAGE-BANDWIDTH=400000,CODECS="avc1.64001f",'
        'RESOLUTION=1280x720,URI="iframe/720p.m3u8"\n'
    )


def test_without_audio_there_is_no_audio_group_and_no_audio_codec() -> None:
    master = hls.master_playlist([VARIANT])
    assert "AUDIO" not in master
    assert "mp4a" not in master
    assert "BANDWIDTH=3000000," in master


def test_untrusted_titles_stay_inside_their_quotes() -> None:
    rude = Rendition(uri="0.m3u8", name='x",URI="file:///\n#EXT-X-KEY', language="not a language", codec="mp4a.40.2")
    found = hls_parser.parse_master_playlist(hls.master_playlist([VARIANT], [rude, rude]))
    assert [media["URI"] for media in found.media] == ["0.m3u8", "0.m3u8"]
    assert len({media["NAME"] for media in found.media}) == 2
    assert all("LANGUAGE" not in media for media in found.media)


def test_a_track_without_a_title_has_a_name() -> None:
    nameless = Rendition(uri="0.m3u8", name=" ", language="und", codec="mp4a.40.2")
    assert 'NAME="Audio"' in hls.master_playlist([VARIANT], [nameless])


@pytest.mark.parametrize(
    "languages, default, autoselect",
    [
        (["en", "de"], 0, ["YES", "YES"]),
        (["en", "eng", "de"], 0, ["YES", "NO", "YES"]),
        (["en", "eng"], 1, ["NO", "YES"]),
    ],
)
def test_one_of_indistinguishable_tracks_is_autoselected(
    languages: list[str], default: int, autoselect: list[str]
) -> None:
    tracks = [
        Rendition(uri=f"{number}.m3u8", name=str(number), language=language, default=number == default)
        for number, language in enumerate(languages)
    ]
    found = hls_parser.parse_master_playlist(hls.master_playlist([VARIANT], tracks)).media
    assert [media["AUTOSELECT"] for media in found] == autoselect


@quickly
@given(st.lists(st.fractions(Fraction(1, 100), 10, max_denominator=90000), min_size=1, max_size=60))
def test_durations_never_drift(durations: list[Fraction]) -> None:
    parts = [Part("c.mp4", 10, 20, duration) for duration in durations]
    found = hls_parser.parse_media_playlist(hls.media_playlist(parts, "i.mp4")).parts
    for part, duration in zip(found, durations, strict=True):
        assert abs(part.duration - duration) <= hls.MICROSECOND
    total = sum((part.duration for part in found), Fraction(0))
    assert abs(total - sum(durations)) <= hls.MICROSECOND / 2


def make_parts(*pairs: tuple[int, Fraction | int]) -> list[Part]:
    return [Part("c.mp4", 0, size, Fraction(duration)) for size, duration in pairs]


@pytest.mark.parametrize(
    "parts, peak, average",
    [
        (make_parts((1000, 2), (3000, 2), (2000, 2)), 12000, 8000),
        (make_parts((1000, 6), (1000, 6), (900, Fraction(1, 2))), 2339, 1856),
        (make_parts((1000, 4), (1000, 2), (5000, 2)), 20000, 7000),
        (make_parts((1000, 1), (9000, Fraction(1, 4)), (1000, 1)), 64000, 39112),
        (make_parts((100, Fraction(1, 5))), 4000, 4000),
        ([], 0, 0),
    ],
    ids=["plain", "a short end counts with what is before", "half a target", "together", "one short", "none"],
)
def test_the_peak_is_that_of_the_worst_window(parts: list[Part], peak: int, average: int) -> None:
    assert hls.measure_rates(parts) == Rates(peak, average)


@pytest.mark.parametrize("seconds, target", [("0.2", 1), ("1.49", 1), ("1.5", 2), ("6.006", 6), ("6.5", 7)])
def test_the_target_duration_is_rounded_as_in_the_standard(seconds: str, target: int) -> None:
    assert hls.target_duration([Fraction(seconds)]) == target


def test_uris_are_relative_and_resolve_to_their_keys() -> None:
    uri = hls.relative_uri("versions/7/package/0/3/video/a.m3u8", "versions/7/encode/0/1/a b#?:.mp4")
    assert uri == "../../../../encode/0/1/a%20b%23%3F%3A.mp4"
    assert hls.resolve_uri("versions/7/package/0/3/video/a.m3u8", uri) == "versions/7/encode/0/1/a b#?:.mp4"


@pytest.mark.parametrize(
    "uri", ["/etc/passwd", "../../x", "http://x/y", "file:x", "..", "%2e%2e/%2e%2e/x", "a/../../../x"]
)
def test_a_uri_out_of_the_storage_is_refused(uri: str) -> None:
    with pytest.raises(MalformedPlaylist, match="leads out"):
        hls.resolve_uri("video/a.m3u8", uri)


GOOD = hls.media_playlist(PARTS, "i.mp4")
MASTER = hls.master_playlist([VARIANT], [ENGLISH])


@pytest.mark.parametrize(
    "text, reason",
    [
        ("", "line 1"),
        ("#EXTM3U", "line 1"),
        (GOOD.replace("#EXT-X-ENDLIST\n", "#EXT-X-ENDLIST\nmore.mp4\n"), "unexpected"),
        (GOOD.replace("#EXT-X-MAP", "#EXT-X-WHAT"), "unexpected"),
        (GOOD.replace("#EXT-X-PLAYLIST", "\n#EXT-X-PLAYLIST"), "unexpected"),
        (GOOD.replace("#EXT-X-VERSION:7\n", ""), "EXT-X-VERSION is missing"),
        (GOOD.replace("VERSION:7", "VERSION:seven"), "not a number"),
        (GOOD.replace("#EXT-X-VERSION:7", "#EXT-X-VERSION:7\n#EXT-X-VERSION:7"), "a second"),
        (GOOD.replace("#EXTINF:2.002000,\n", ""), "without a duration"),
        (GOOD.replace("EXTINF:2.002000,", "EXTINF:-2.002000,"), "without a duration"),
        (GOOD.replace("1000@700", "1000"), "invalid byte range"),
        (GOOD.replace("../c1.mp4\n", ""), "no URI"),
        (GOOD.replace('URI="', 'URI="a",URI="'), "attributes"),
        (GOOD.replace('URI="', "URI=,"), "attributes"),
    ],
)
def test_any_other_media_playlist_is_refused(text: str, reason: str) -> None:
    assert text != GOOD
    with pytest.raises(MalformedPlaylist, match=reason):
        hls_parser.parse_media_playlist(text)


@pytest.mark.parametrize(
    "text, reason",
    [
        (MASTER.replace("video/720p.m3u8\n", ""), "one URI"),
        (MASTER.replace("video/720p.m3u8\n", "a\nb\n"), "one URI"),
        (MASTER.partition("video/")[0], "no URI"),
        (MASTER.replace("#EXT-X-MEDIA", "#EXT-X-MIDI"), "unexpected"),
        (MASTER.replace("#EXT-X-VERSION:7\n", ""), "EXT-X-VERSION is missing"),
    ],
)
def test_any_other_master_playlist_is_refused(text: str, reason: str) -> None:
    with pytest.raises(MalformedPlaylist, match=reason):
        hls_parser.parse_master_playlist(text)


@quickly
@given(st.text(alphabet='#EXT-X:MAP=",\n0123@.', max_size=80))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    for read in (hls_parser.parse_media_playlist, hls_parser.parse_master_playlist):
        with pytest.raises(MalformedPlaylist):
            read("#EXTM3U\n" + text)
