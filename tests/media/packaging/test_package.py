"""What a player reads of a version: playlists and a DASH manifest over a source with every kind of track."""

import asyncio
import posixpath
from dataclasses import dataclass, replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from reelstate.artifacts.folder import Folder
from reelstate.media.formats import hls, hls_parser
from reelstate.media.packaging.init_segments import read_headers
from reelstate.media.packaging.package import StreamContents, growing
from reelstate.media.results import Encoded, Fetched, MadeAudio
from tests.media.clips import ffmpeg
from tests.media.deployment import Stream, start_deployment
from tests.media.packaging import mpd
from tests.media.source_videos import BUILD, make_video, profile

SEGMENT = 1.48
"""Seconds, which round to 1. Sound that lasts as long, and its priming, has 71 packets, which round to 2."""
SEGMENTS = 3
WORDS = "1\n00:00:00,200 --> 00:00:01,000\nHello\n"


def source(folder: Path, segments: int = SEGMENTS) -> Path:
    """A source with two sound tracks, the second in mono, and two of captions, the second forced."""
    words, path = folder / "words.srt", folder / "source.mkv"
    words.write_text(WORDS)
    ffmpeg(
        BUILD,
        *("-f", "lavfi", "-i", "testsrc2=size=320x180:rate=25", "-f", "lavfi", "-i", "sine=sample_rate=48000"),
        *("-f", "lavfi", "-i", "sine=sample_rate=48000:frequency=880", "-i", str(words)),
        *("-map", "0", "-map", "1", "-map", "2", "-map", "3", "-map", "3"),
        *("-c:v", "libx264", "-preset", "ultrafast", "-g", "15", "-pix_fmt", "yuv420p", "-c:a", "aac"),
        *("-ac:a:0", "2", "-ac:a:1", "1", "-c:s", "subrip"),
        *("-metadata:s:a:0", "language=eng", "-metadata:s:a:1", "language=eng"),
        *("-metadata:s:a:1", 'title=The director\'s "commentary"', "-disposition:a:0", "default"),
        *("-metadata:s:s:0", "language=ger", "-metadata:s:s:1", "language=ger", "-disposition:s:1", "forced"),
        *("-t", str(segments * SEGMENT), str(path)),
    )  # fmt: skip
    return path


@dataclass(frozen=True)
class Made:
    stream: Stream
    contents: StreamContents
    """What the tasks have made."""


async def packaged(folder: Path, segments: int = SEGMENTS) -> Made:
    wanted = profile(segment_seconds=SEGMENT, chunk_seconds=SEGMENT, sprites=True)
    async with start_deployment(folder) as here:
        stream = await here.stream(source(folder, segments), profile=wanted)
        job = stream.detail.job.id
        contents = StreamContents(
            plan=Fetched.from_json(stream.detail.plan["fetch"]).plan,
            chunks=[Encoded.from_json(task.result) for task in await here.tasks(job, "encode")],
            audio=[MadeAudio.from_json(task.result) for task in await here.tasks(job, "audio")],
        )
        return Made(stream, replace(contents, headers=await read_headers(Folder(here.storage), contents)))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return asyncio.run(packaged(tmp_path_factory.mktemp("package")))


def playlist(stream: Stream, key: str) -> hls_parser.MediaPlaylist:
    return hls_parser.parse_media_playlist(stream.path(key).read_text())


def targets(stream: Stream) -> set[int]:
    entries = [*stream.manifest["rungs"], *stream.manifest["audio"]]
    keys = [entry["playlist"] for entry in entries] + [str(rung["key_frames"]) for rung in stream.manifest["rungs"]]
    return {playlist(stream, key).target for key in keys}


async def test_all_media_playlists_of_a_version_have_one_target_duration(tmp_path: Path) -> None:
    """RFC 8216, section 6.2.4: players time their requests for all of them by it."""
    stream = (await packaged(tmp_path, segments=1)).stream
    lengths = [
        hls.target_duration(part.duration for part in playlist(stream, entry["playlist"]).parts)
        for entry in (*stream.manifest["rungs"], *stream.manifest["audio"])
    ]
    assert lengths == [1, 1, 2, 2], "picture and sound alone would have different ones"
    assert targets(stream) == {2}


def test_a_stream_that_grows_has_the_target_duration_that_it_ends_with(made: Made) -> None:
    contents = made.contents
    assert targets(made.stream) == {1}
    for count in range(1, SEGMENTS + 1):
        files = growing(replace(contents, chunks=contents.chunks[:count]), str)
        lists = [hls_parser.parse_media_playlist(text.decode()) for key, text in files.items() if key != "master.m3u8"]
        assert [each.target for each in lists] == [1] * 4


def manifest(stream: Stream) -> ET.Element:
    return ET.fromstring(stream.path(stream.outputs["dash"]).read_text())  # noqa: S314 - written by us


def sets(stream: Stream, kind: str) -> list[ET.Element]:
    return manifest(stream).findall(f".//{{*}}AdaptationSet[@contentType='{kind}']")


def roles(place: ET.Element) -> list[str]:
    return [role.get("value", "") for role in place.iterfind("{*}Role")]


def test_the_dash_manifest_keeps_to_the_schema(made: Made) -> None:
    for key in (made.stream.manifest["dash"], made.stream.outputs["dash"]):
        assert mpd.faults(made.stream.path(str(key)).read_text()) == []


def test_tracks_have_roles_labels_and_languages_in_dash(made: Made) -> None:
    assert [roles(place) for place in sets(made.stream, "video")] == [["main"]]
    found = [
        (place.get("lang"), place.findtext("{*}Label"), roles(place))
        for kind in ("audio", "text")
        for place in sets(made.stream, kind)
    ]
    assert found == [
        ("en", "English", ["main"]),
        ("en", "The director's 'commentary'", ["commentary"]),
        ("de", "German", ["subtitle"]),
        ("de", "German (forced)", ["forced-subtitle"]),
    ]


def test_tracks_have_the_same_names_in_hls_and_a_player_chooses_between_those_that_differ(made: Made) -> None:
    found = hls_parser.parse_master_playlist(made.stream.master.read_text())
    shown = [(media["NAME"], media["LANGUAGE"], media["DEFAULT"], media["AUTOSELECT"]) for media in found.media]
    assert shown == [
        ("English", "en", "YES", "YES"),
        ("The director's 'commentary'", "en", "NO", "NO"),
        ("German", "de", "NO", "YES"),
        ("German (forced)", "de", "NO", "YES"),
    ]
    assert [media.get("FORCED") for media in found.media] == [None, None, "NO", "YES"]


def test_dash_has_the_sheets_of_small_pictures_as_a_track(made: Made) -> None:
    (place,) = sets(made.stream, "image")
    template, picture = place.find("{*}SegmentTemplate"), place.find("{*}Representation")
    assert template is not None
    assert picture is not None
    tile = picture.find("{*}EssentialProperty[@schemeIdUri='http://dashif.org/guidelines/thumbnail_tile']")
    sprites = made.contents.plan.sprites
    assert tile is not None
    assert sprites is not None
    assert tile.get("value") == f"{sprites.columns}x{sprites.rows}"
    assert int(picture.get("width", "")) == sprites.columns * sprites.width
    assert int(template.get("duration", "")) == 100 * sprites.every * int(template.get("timescale", ""))
    base = posixpath.dirname(str(made.stream.manifest["dash"]))
    for number in range(1, sprites.sheets + 1):
        key = posixpath.normpath(f"{base}/{template.get('media', '').replace('$Number$', str(number))}")
        assert made.stream.path(key).read_bytes().startswith(b"\xff\xd8")


@pytest.mark.parametrize("channels", [1, 2])
async def test_the_channels_that_are_announced_are_those_of_the_bytes(channels: int, tmp_path: Path) -> None:
    wanted = profile(rungs=profile()["rungs"][1:], audio={"channels": channels, "bitrate": 32_000})
    async with start_deployment(tmp_path) as here:
        stream = await here.stream(make_video(tmp_path / "source.mp4", 1), profile=wanted)
    (media,) = hls_parser.parse_master_playlist(stream.master.read_text()).media
    (place,) = sets(stream, "audio")
    announced = place.find(".//{*}AudioChannelConfiguration")
    assert announced is not None
    assert (media["CHANNELS"], announced.get("value")) == (str(channels), str(channels))
    decoded = ffmpeg(BUILD, "-i", str(stream.master), "-map", "0:a", "-f", "framemd5", "-").decode()
    assert f"#channel_layout_name 0: {'mono' if channels == 1 else 'stereo'}" in decoded
