"""A valid package has no faults; every fault is found and named with its path."""

import asyncio
import re
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from reelstate.core.errors import NotFound
from reelstate.media.packaging import verify as verify_module
from reelstate.media.packaging.manifest import Manifest
from reelstate.media.packaging.verify import verify
from tests.media.streams import PACKAGE, Package, builds, package
from tests.waiting import let_others_run

CHUNK = "versions/7/encode/1/1/180p.mp4"
MASTER = f"{PACKAGE}/master.m3u8"
PLAYLIST = f"{PACKAGE}/video/180p.m3u8"
KEY_FRAMES = f"{PACKAGE}/iframe/180p.m3u8"
SOUND = f"{PACKAGE}/audio/0.m3u8"
CAPTIONS = f"{PACKAGE}/captions/0.m3u8"
DASH = f"{PACKAGE}/manifest.mpd"


@pytest.fixture(scope="module", params=builds())
def every_package(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Package:
    return package(request.param, tmp_path_factory.mktemp("package"))


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Package:
    return package("wheel", tmp_path_factory.mktemp("package"))


@pytest.fixture
def good(untouched: Package) -> Package:
    return untouched.copy()


async def faults(spoilt: Package) -> tuple[str, ...]:
    return (await spoilt.verify()).faults


async def test_a_good_package_has_no_faults_and_is_read_once(every_package: Package) -> None:
    every_package.reads.clear()
    report = await every_package.verify()
    assert report.faults == ()
    assert report.good
    assert report.files == len(every_package.files)
    assert report.size == sum(map(len, every_package.files.values()))
    assert len(every_package.reads) == len(every_package.files)


async def test_a_package_without_sound_is_good(tmp_path: Path) -> None:
    assert await faults(package("wheel", tmp_path, with_sound=False)) == ()


async def test_large_files_are_read_in_blocks(good: Package, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify_module, "BLOCK", 1000)
    assert await faults(good) == ()
    assert max(length for _, _, length in good.reads) == 1000


async def test_an_outage_of_the_storage_is_no_verdict(good: Package) -> None:
    async def get(key: str, start: int, length: int) -> bytes:
        raise ConnectionError

    with pytest.raises(ConnectionError):
        await verify(get, Manifest.from_json(good.manifest))


async def test_after_an_outage_nothing_is_read_any_more(good: Package) -> None:
    asked: list[str] = []
    stopped: list[str] = []

    async def get(key: str, start: int, length: int) -> bytes:
        asked.append(key)
        if len(asked) == verify_module.CONCURRENT_READS:
            raise ConnectionError
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append(key)
        return b""

    with pytest.raises(ConnectionError):
        await verify(get, Manifest.from_json(good.manifest))
    await let_others_run()
    failed = asked[verify_module.CONCURRENT_READS - 1]
    assert sorted(stopped) == sorted(key for key in asked if key != failed)


async def test_a_file_that_the_storage_does_not_know_is_a_fault(good: Package) -> None:
    async def get(key: str, start: int, length: int) -> bytes:
        if key == CHUNK:
            raise NotFound("file", key)
        return await good.get(key, start, length)

    assert f"{CHUNK}: is not in the storage" in (await verify(get, Manifest.from_json(good.manifest))).faults


def line_gone(pattern: str) -> Callable[[str], str]:
    return lambda text: re.sub(rf"{pattern}.*\n", "", text, count=1)


def swap(old: str, new: str) -> Callable[[str], str]:
    return lambda text: re.sub(old, new, text, count=1)


def lose_file(spoilt: Package) -> None:
    del spoilt.files[CHUNK]


def flip_a_byte(spoilt: Package) -> None:
    data = bytearray(spoilt.files[CHUNK])
    data[-200] ^= 1
    spoilt.files[CHUNK] = bytes(data)


def cut_short(spoilt: Package) -> None:
    spoilt.files[CHUNK] = spoilt.files[CHUNK][:-100]


def cut_and_recorded(spoilt: Package) -> None:
    spoilt.put(CHUNK, spoilt.files[CHUNK][:-2000])


def unlisted(spoilt: Package) -> None:
    del spoilt.manifest["files"][SOUND]


def move_in_time(spoilt: Package) -> None:
    data = bytearray(spoilt.files[CHUNK])
    at = data.index(b"tfdt") + 8
    data[at : at + 8] = struct.pack(">Q", struct.unpack_from(">Q", data, at)[0] + 1001)
    spoilt.put(CHUNK, bytes(data))


def no_key_frame(spoilt: Package) -> None:
    data = bytearray(spoilt.files[CHUNK])
    at = data.index(b"trun") + 16
    data[at : at + 4] = struct.pack(">I", 0x01010000)
    spoilt.put(CHUNK, bytes(data))


def other_settings(spoilt: Package) -> None:
    data = bytearray(spoilt.files[CHUNK])
    data[data.index(b"avcC") + 7] += 1
    spoilt.put(CHUNK, bytes(data))


def other_rung(spoilt: Package) -> None:
    """Replace a chunk with the chunk of another rung."""
    rung, other = spoilt.manifest["rungs"]
    rung["chunks"][1] = other["chunks"][1]


def drop_recorded_segment(spoilt: Package) -> None:
    spoilt.manifest["rungs"][0]["chunks"][1]["segments"].pop()


def drop_chunk(spoilt: Package) -> None:
    """Drop it everywhere, so that only the number of frames and the other rung reveal it."""
    spoilt.manifest["rungs"][0]["chunks"].pop()
    spoilt.edit(PLAYLIST, lambda text: re.sub(r"#EXTINF.*\n.*\n.*encode/1/.*\n", "", text))


def record_wrongly(spoilt: Package) -> None:
    spoilt.manifest["rungs"][0]["chunks"][0]["segments"][1][3] += 1


def longer_segments(spoilt: Package) -> None:
    """One rung in segments twice as long."""
    rung = spoilt.manifest["rungs"][0]
    for chunk in rung["chunks"]:
        (offset, size, ticks, key), (_, more, other, _) = chunk["segments"]
        chunk["segments"] = [[offset, size + more, ticks + other, key]]


def plan_more_frames(spoilt: Package) -> None:
    spoilt.manifest["frames"] += 1


def other_rate(spoilt: Package) -> None:
    spoilt.manifest["rate"] = "25"


def longer_source(spoilt: Package) -> None:
    spoilt.manifest["duration"] = "21/10"


def longer_sound(spoilt: Package) -> None:
    spoilt.manifest["audio"][0]["duration"] = "21/10"


def init_without_edits(spoilt: Package) -> None:
    spoilt.put(f"{PACKAGE}/180p-init.mp4", spoilt.files[CHUNK][: spoilt.files[CHUNK].index(b"moof") - 4])


def sound_as_video(spoilt: Package) -> None:
    sound, rung = spoilt.manifest["audio"][0], spoilt.manifest["rungs"][0]
    rung["init"], rung["chunks"] = sound["init"], sound["chunks"]


def video_as_sound(spoilt: Package) -> None:
    sound, rung = spoilt.manifest["audio"][0], spoilt.manifest["rungs"][0]
    sound["init"], sound["chunks"] = rung["init"], rung["chunks"]


def empty_captions(spoilt: Package) -> None:
    spoilt.put(f"{PACKAGE}/0.vtt", b"")


def wrong_captions(spoilt: Package) -> None:
    spoilt.put(f"{PACKAGE}/0.vtt", b"1\n00:00:00,000 --> 00:00:01,000\nSubRip\n")


def captions_backwards(spoilt: Package) -> None:
    spoilt.put(f"{PACKAGE}/0.vtt", b"WEBVTT\n\n00:00:02.000 --> 00:00:01.000\nHello\n")


def no_rungs(spoilt: Package) -> None:
    spoilt.manifest["rungs"] = []


def edit(key: str, change: Callable[[str], str]) -> Callable[[Package], None]:
    return lambda spoilt: spoilt.edit(key, change)


SPOILS: dict[str, tuple[Callable[[Package], None], str]] = {
    "a file is gone": (lose_file, f"{CHUNK}: is not in the storage"),
    "a byte differs": (flip_a_byte, f"{CHUNK}: has other bytes than were recorded"),
    "a file is short": (cut_short, f"{CHUNK}: has .* bytes, not"),
    "a file breaks off": (cut_and_recorded, f"{CHUNK}: the file is truncated after"),
    "a file is not listed": (unlisted, f"{SOUND}: is not among the files"),
    "a file is empty": (empty_captions, "0.vtt: is empty"),
    "there is no rung": (no_rungs, "no rung"),
    "decode times jump": (move_in_time, "180p: segment 2 .* starts at tick 31031, where the one before ends at 30030"),
    "a segment starts without a key frame": (no_key_frame, "180p: segment 2 .* starts without a key frame"),
    "a chunk was made with other settings": (other_settings, f"{CHUNK}: was made with other settings"),
    "a chunk is of another rung": (other_rung, "90p.mp4: was made with other settings than .*180p-init"),
    "a segment is not recorded": (drop_recorded_segment, f"{CHUNK}: .* after the last segment"),
    "a segment is recorded wrongly": (record_wrongly, "180p.mp4: segment 1 is recorded as"),
    "a chunk is dropped": (drop_chunk, "180p: has 30 frames, 60 were planned"),
    "a rung has fewer segments": (drop_chunk, "90p: has 4 segments, 180p has 2"),
    "a rung has longer segments": (longer_segments, r"90p: segment 0 lasts 0.500500 s, in 180p 1.001000 s"),
    "frames are missing": (plan_more_frames, "180p: has 60 frames, 61 were planned"),
    "the rate is another": (other_rate, "180p: has 30000/1001 frames a second, not 25"),
    "the source is longer": (longer_source, "180p: lasts 2.002000 s, its source 2.100000 s"),
    "the sound is shorter": (longer_sound, "audio 0: lasts 2.0.* s, not 2.100000 s"),
    "the first frame comes late": (init_without_edits, "180p: its first frame is shown at 0.066733 s"),
    "a rung is sound": (sound_as_video, "180p: is audio, not video"),
    "a sound track is video": (video_as_sound, "audio 0: is video, not audio"),
    "no ENDLIST": (edit(PLAYLIST, line_gone("#EXT-X-ENDLIST")), f"{PLAYLIST}: EXT-X-ENDLIST is missing"),
    "no ENDLIST for sound": (edit(SOUND, line_gone("#EXT-X-ENDLIST")), f"{SOUND}: EXT-X-ENDLIST is missing"),
    "no MAP": (edit(PLAYLIST, line_gone("#EXT-X-MAP")), f"{PLAYLIST}: EXT-X-MAP is missing"),
    "another MAP": (edit(PLAYLIST, swap("180p-init", "90p-init")), f"{PLAYLIST}: EXT-X-MAP is .*90p-init"),
    "another version": (edit(PLAYLIST, swap("VERSION:7", "VERSION:3")), f"{PLAYLIST}: EXT-X-VERSION is 3"),
    "an EVENT": (edit(PLAYLIST, swap("VOD", "EVENT")), f"{PLAYLIST}: EXT-X-PLAYLIST-TYPE is EVENT"),
    "segments said to depend on others": (
        edit(PLAYLIST, line_gone("#EXT-X-INDEPENDENT")),
        f"{PLAYLIST}: EXT-X-INDEPENDENT-SEGMENTS is missing",
    ),
    "a target too short": (
        edit(PLAYLIST, swap("#EXTINF:0.5", "#EXTINF:1.5")),
        f"{PLAYLIST}: EXT-X-TARGETDURATION is 1, but a segment lasts 2",
    ),
    "another target than the others": (
        edit(SOUND, swap("TARGETDURATION:1", "TARGETDURATION:2")),
        f"EXT-X-TARGETDURATION differs: 1 in {PLAYLIST}, 2 in {SOUND}",
    ),
    "a segment not listed": (
        edit(PLAYLIST, swap(r"#EXTINF.*\n.*\n.*mp4\n", "")),
        f"{PLAYLIST}: lists 3 segments, but the files have 4",
    ),
    "a invalid byte range": (edit(PLAYLIST, swap(r"BYTERANGE:(\d+)@", r"BYTERANGE:1\1@")), f"{PLAYLIST}: segment 0 is"),
    "a wrong duration": (
        edit(PLAYLIST, swap(r"EXTINF:0.50\d+", "EXTINF:0.502000")),
        f"{PLAYLIST}: segment 0 is listed as 0.502000 s long, not 0.500500 s",
    ),
    "a way out of the storage": (edit(PLAYLIST, swap(r"\.\./", "../" * 9)), "leads out of the storage"),
    "an unknown tag": (edit(PLAYLIST, swap("#EXT-X-MAP", "#EXT-X-KEY")), f"{PLAYLIST}: line 7"),
    "a wrong key frame": (edit(KEY_FRAMES, swap(r"BYTERANGE:(\d+)@", r"BYTERANGE:1\1@")), f"{KEY_FRAMES}: segment 0"),
    "key frames not marked": (
        edit(KEY_FRAMES, line_gone("#EXT-X-I-FRAMES")),
        f"{KEY_FRAMES}: EXT-X-I-FRAMES-ONLY is missing",
    ),
    "a broken key frame playlist": (edit(KEY_FRAMES, swap("#EXTM3U", "")), f"{KEY_FRAMES}: line 1"),
    "captions of another format": (wrong_captions, "0.vtt: the file does not begin with WEBVTT"),
    "captions that end before they start": (captions_backwards, "0.vtt: 1 of 1 cues"),
    "captions of another file": (edit(CAPTIONS, swap(r"0\.vtt", "1.vtt")), f"{CAPTIONS}: does not list .*0.vtt alone"),
    "a broken captions playlist": (edit(CAPTIONS, swap("#EXTINF", "#EXT")), f"{CAPTIONS}: line"),
    "no variant": (edit(MASTER, swap(r"#EXT-X-STREAM-INF.*\n.*\n", "")), f"{MASTER}: its variants are"),
    "no sound in the master": (edit(MASTER, line_gone("#EXT-X-MEDIA:TYPE=AUDIO")), f"{MASTER}: its audio tracks are"),
    "no captions in the master": (edit(MASTER, line_gone("#EXT-X-MEDIA:TYPE=SUB")), f"{MASTER}: its captions are"),
    "no key frames in the master": (
        edit(MASTER, line_gone("#EXT-X-I-FRAME-STREAM-INF")),
        f"{MASTER}: its key frame playlists are",
    ),
    "a broken master": (edit(MASTER, swap(r"video/180p.m3u8\n", "")), f"{MASTER}: line"),
    "another version of the master": (edit(MASTER, swap("VERSION:7", "VERSION:4")), f"{MASTER}: EXT-X-VERSION is 4"),
    "a bandwidth too low": (
        edit(MASTER, swap(r"INF:BANDWIDTH=\d+", "INF:BANDWIDTH=100000")),
        f"{MASTER}: 180p: BANDWIDTH is 100000, but",
    ),
    "no bandwidth in numbers": (edit(MASTER, swap(r"INF:BANDWIDTH=\d+", "INF:BANDWIDTH=much")), f"{MASTER}: invalid"),
    "an average that is wrong": (
        edit(MASTER, swap(r"AVERAGE-BANDWIDTH=\d+", "AVERAGE-BANDWIDTH=100000")),
        f"{MASTER}: 180p: AVERAGE-BANDWIDTH is 100000",
    ),
    "a wrong codec": (edit(MASTER, swap(r"avc1\.\w+", "avc1.640028")), f"{MASTER}: 180p: CODECS is avc1.640028"),
    "sound left out of the codecs": (edit(MASTER, swap(",mp4a.40.2", "")), f"{MASTER}: 180p: CODECS is avc1"),
    "a wrong size": (edit(MASTER, swap("=320x180", "=1280x720")), f"{MASTER}: 180p: RESOLUTION is 1280x720"),
    "a wrong frame rate": (edit(MASTER, swap("29.970", "30.000")), f"{MASTER}: 180p: FRAME-RATE is 30.000"),
    "no audio group": (edit(MASTER, swap(',AUDIO="audio"', "")), f"{MASTER}: 180p: AUDIO is missing, not audio"),
    "another captions group": (
        edit(MASTER, swap('SUBTITLES="captions"', 'SUBTITLES="text"')),
        f"{MASTER}: 180p: SUBTITLES is text",
    ),
    "DASH that is no XML": (edit(DASH, swap("</MPD>", "")), f"{DASH}: it can't be read"),
    "DASH with a declaration": (edit(DASH, swap("<MPD", "<!DOCTYPE x><MPD")), f"{DASH}: it contains a declaration"),
    "DASH without a rung": (edit(DASH, swap('id="90p"', 'id="91p"')), f"{DASH}: 90p is missing"),
    "DASH with another rung": (edit(DASH, swap('id="90p"', 'id="91p"')), f"{DASH}: has 91p, which"),
    "DASH with a wrong range": (edit(DASH, swap(r'mediaRange="\d+', 'mediaRange="1')), f"{DASH}: segment 0 is"),
    "DASH with a wrong time": (
        edit(DASH, swap(r' duration="15015"', ' duration="15115"')),
        f"{DASH}: segment 0 is listed as",
    ),
    "DASH with a wrong init": (edit(DASH, swap("180p-init", "90p-init")), f"{DASH}: 180p begins with 90p-init"),
    "DASH with a wrong codec": (edit(DASH, swap(r"avc1\.\w+", "avc1.640028")), f"{DASH}: 180p is listed as"),
    "DASH with too little bandwidth": (
        edit(DASH, swap(r'bandwidth="\d+', 'bandwidth="9')),
        "the bandwidth of 180p is 9",
    ),
    "DASH with another duration": (
        edit(DASH, swap('mediaPresentationDuration="PT2', 'mediaPresentationDuration="PT3')),
        f"{DASH}: is listed as 3.002000 s long",
    ),
    "DASH without a length of segments": (edit(DASH, swap(r' duration="15015"', "")), f"{DASH}: it can't be read"),
}


@pytest.mark.parametrize("case", SPOILS)
async def test_a_fault_is_found_and_named(case: str, good: Package) -> None:
    spoil, expected = SPOILS[case]
    spoil(good)
    found = await faults(good)
    assert any(re.search(expected, fault) for fault in found), found


async def test_a_wrong_grid_is_reported_in_few_sentences(good: Package) -> None:
    longer_segments(good)
    assert len(await faults(good)) < 20


async def test_four_files_are_read_at_a_time(good: Package) -> None:
    at_once, most = 0, 0

    async def get(key: str, start: int, length: int) -> bytes:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await let_others_run()
        at_once -= 1
        return await good.get(key, start, length)

    assert (await verify(get, Manifest.from_json(good.manifest))).good
    assert most == 4
