import asyncio
import contextlib
import hashlib
import json
import os
import signal
import socket
import struct
import sys
import zlib
from collections.abc import Awaitable, Callable, Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from reelstate.artifacts.bucket import Bucket
from reelstate.core.errors import ReelstateError
from reelstate.media.planning.acceptance import SourceRefused
from reelstate.media.planning.plan import make_plan
from reelstate.media.planning.profile import Profile, Rung
from reelstate.media.sandbox import confine, sandbox
from reelstate.media.sandbox.sandbox import REQUIRE, Sandbox
from reelstate.media.sources import probe as probe_module
from reelstate.media.sources.address import InputRules, LocalAddress, parse_address
from reelstate.media.sources.errors import SourceError, SourceUnavailable, SourceUnseekable, UnusableSource
from reelstate.media.sources.facts import SourceFacts, VideoFacts
from reelstate.media.sources.probe import ProbeLimits, count_frames, probe, probe_wall, run_child
from reelstate.media.sources.reader import BLOCK
from reelstate.media.sources.source import FileReader, open_file, open_source
from reelstate.media.sources.web import HEAD
from tests.media.clips import FRAMES, NTSC, X264, ffmpeg, make_clip, rotate_mp4, run_checked
from tests.media.sources.web_server import WebServer, file, plain
from tests.media.streams import builds

BUILD = next(iter(builds()))
SINE = ("-f", "lavfi", "-i", "sine=sample_rate=48000", "-shortest")
LOW_MEMORY = ProbeLimits(memory=400 * 1024**2)
"""Enough memory to probe any honest file, too little for a bomb."""
PROFILE = Profile(name="one", rungs=(Rung(name="90p", height=90, crf=24, max_bitrate=500_000, preset="fast"),))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sources")


@pytest.fixture(scope="module")
def clip(folder: Path) -> Path:
    """An MP4 with sound and its index at the end."""
    return make_clip(BUILD, folder / "clip.mp4", f"{X264} -c:a aac -map 0 -map 1", inputs=SINE)


@pytest.fixture(scope="module")
def data(clip: Path) -> bytes:
    return clip.read_bytes()


def copy(source: Path, target: Path, *options: str) -> Path:
    ffmpeg(BUILD, "-i", str(source), "-map", "0", "-c", "copy", *options, str(target))
    return target


async def video_of(path: Path) -> VideoFacts:
    video = (await probe(path)).video
    assert video is not None
    return video


async def test_the_index_of_an_mp4_gives_all_facts(clip: Path, data: bytes) -> None:
    facts = await probe(clip)
    assert facts.container.startswith("mov")
    assert (facts.size, facts.indexed, facts.streams, facts.warnings) == (len(data), True, 2, ())
    assert facts.video == VideoFacts(
        index=0,
        codec="h264",
        width=160,
        height=90,
        rate=NTSC,
        frames=FRAMES,
        duration=FRAMES / NTSC,
        longest_gop=47 / NTSC,
    )
    assert [(track.codec, track.channels, track.sample_rate) for track in facts.audio] == [("aac", 1, 48000)]
    assert SourceFacts.from_json(facts.to_json()) == facts


@pytest.mark.parametrize(
    "name, indexed", [("a.mkv", True), ("a.mov", True), ("a.ts", False), ("a.avi", False), ("a.flv", False)]
)
async def test_the_same_stream_has_the_same_facts_in_every_container(
    clip: Path, folder: Path, name: str, indexed: bool
) -> None:
    facts = await probe(copy(clip, folder / name))
    assert facts.video is not None
    assert (facts.video.rate, facts.video.frames, facts.video.variable_rate) == (NTSC, FRAMES, False)
    assert abs(facts.duration - FRAMES / NTSC) < Fraction(1, 5)
    assert facts.indexed == indexed
    assert len(facts.audio) == 1


@pytest.mark.parametrize("flags", ["+frag_keyframe+empty_moov", "+frag_keyframe+delay_moov", "+frag_keyframe"])
async def test_a_fragmented_mp4_has_no_index(clip: Path, folder: Path, flags: str) -> None:
    facts = await probe(copy(clip, folder / "fragments.mp4", "-movflags", flags))
    assert not facts.indexed
    assert facts.video is not None
    assert (facts.video.rate, facts.video.frames) == (NTSC, FRAMES)


async def test_a_matroska_file_of_a_live_stream_has_no_index_and_no_duration(clip: Path, folder: Path) -> None:
    facts = await probe(copy(clip, folder / "live.mkv", "-live", "1"))
    assert not facts.indexed
    assert abs(facts.duration - FRAMES / NTSC) < Fraction(1, 100)


@pytest.mark.parametrize("rate", ["24000/1001", "24", "25", "30", "50", "60000/1001", "60", "12.5", "7"])
@pytest.mark.parametrize("name", ["rate.mp4", "rate.mkv"])
async def test_the_rate_is_exact(folder: Path, rate: str, name: str) -> None:
    path = make_clip(BUILD, folder / name, X264, picture=f"testsrc2=size=160x90:rate={rate}")
    video = await video_of(path)
    assert (video.rate, video.variable_rate) == (Fraction(rate), False)


@pytest.mark.parametrize("name", ["vary.mp4", "vary.mkv"])
async def test_a_variable_rate_is_detected(folder: Path, name: str) -> None:
    picture = "testsrc2=size=160x90:rate=30,select='not(mod(n\\,3))+lt(n\\,20)'"
    video = await video_of(make_clip(BUILD, folder / name, f"-vsync vfr {X264}", picture=picture))
    assert video.variable_rate
    assert video.frames == FRAMES
    assert Fraction(10) < video.rate < Fraction(20)


async def test_a_rate_that_varies_late_is_detected_in_the_index(folder: Path) -> None:
    picture = "testsrc2=size=160x90:rate=30,select='lt(n\\,50)+not(mod(n\\,3))'"
    path = make_clip(BUILD, folder / "late.mp4", f"-vsync vfr {X264}", picture=picture)
    facts = SourceFacts.from_json((await run_child("probe", path, ProbeLimits(packets=20))).facts)
    assert facts.video is not None
    assert facts.video.variable_rate


def corner(pixels: bytes, width: int) -> str:
    """Return the corner of a picture that is white."""
    height = len(pixels) // width
    corners = {"top left": (8, 8), "top right": (width - 9, 8), "bottom left": (8, height - 9)}
    corners["bottom right"] = (width - 9, height - 9)
    return next(name for name, (x, y) in corners.items() if pixels[y * width + x] > 128)


async def test_the_rotation_is_the_one_that_ffmpeg_applies(folder: Path) -> None:
    picture = "color=black:s=128x64:r=25,drawbox=x=0:y=0:w=16:h=16:c=white:t=fill"
    path = rotate_mp4(make_clip(BUILD, folder / "rotated.mp4", X264, picture=picture))
    facts = await probe(path)
    gray = ("-frames:v", "1", "-f", "rawvideo", "-pix_fmt", "gray", "-")
    upright = ffmpeg(BUILD, "-i", str(path), *gray)
    assert facts.video is not None
    clockwise = {90: "top right", 180: "bottom right", 270: "bottom left"}
    assert clockwise[facts.video.rotation] == corner(upright, 64)
    assert (facts.video.width, facts.video.height, facts.display_size) == (128, 64, (64, 128))


async def test_the_sample_aspect_is_reported(folder: Path) -> None:
    path = make_clip(BUILD, folder / "wide.mp4", f"-vf setsar=4/3 {X264}")
    facts = await probe(path)
    assert facts.video is not None
    assert facts.video.sample_aspect == Fraction(4, 3)
    assert facts.display_size == (213, 90)


async def test_ten_bits_and_high_dynamic_range_are_reported(folder: Path) -> None:
    colours = "-color_trc smpte2084 -color_primaries bt2020 -colorspace bt2020nc"
    facts = await probe(make_clip(BUILD, folder / "hdr.mp4", f"-c:v libx264 -pix_fmt yuv420p10le {colours}"))
    assert facts.video is not None
    assert (facts.video.bits, facts.video.pixel_format) == (10, "yuv420p10le")
    assert (facts.video.transfer, facts.video.primaries, facts.video.matrix) == ("smpte2084", "bt2020", "bt2020nc")
    assert facts.hdr


async def test_interlaced_video_is_reported(folder: Path) -> None:
    path = make_clip(
        BUILD, folder / "interlaced.mp4", "-vf scale=160:96 -c:v libx264 -flags +ildct+ilme -x264-params tff=1"
    )
    assert (await video_of(path)).interlaced


async def test_full_range_is_reported(folder: Path) -> None:
    assert (await video_of(make_clip(BUILD, folder / "full.mp4", "-c:v libx264 -pix_fmt yuvj420p"))).full_range


async def test_a_cover_is_not_the_video(clip: Path, folder: Path) -> None:
    cover = folder / "cover.jpg"
    ffmpeg(BUILD, "-f", "lavfi", "-i", "testsrc2=size=64x64", "-frames:v", "1", str(cover))
    with_cover = folder / "cover.mp4"
    ffmpeg(
        *(BUILD, "-i", str(cover), "-i", str(clip), "-map", "0", "-map", "1", "-c", "copy"),
        *("-disposition:v:0", "attached_pic", str(with_cover)),
    )
    facts = await probe(with_cover)
    assert facts.video is not None
    assert (facts.video.width, facts.streams) == (160, 3)
    ffmpeg(
        *(BUILD, "-i", str(cover), "-i", str(clip), "-map", "0", "-map", "1:a", "-c", "copy"),
        *("-disposition:v:0", "attached_pic", str(folder / "song.mp4")),
    )
    song = await probe(folder / "song.mp4")
    assert (song.video, len(song.audio)) == (None, 1)


async def test_tracks_are_reported_with_their_labels(clip: Path, folder: Path) -> None:
    (folder / "text.srt").write_text("1\n00:00:00,100 --> 00:00:01,000\nHello\n")
    labels = ("-metadata:s:a", "language=deu", "-metadata:s:a", "title=Ton", "-metadata:s:s", "language=fra")
    ffmpeg(
        *(BUILD, "-i", str(clip), "-i", str(folder / "text.srt"), "-map", "0", "-map", "1"),
        *("-c", "copy", "-c:s", "srt", *labels, "-disposition:s:0", "forced", str(folder / "tracks.mkv")),
    )
    facts = await probe(folder / "tracks.mkv")
    assert [(track.language, track.title) for track in facts.audio] == [("deu", "Ton")]
    assert [(track.codec, track.text, track.language, track.forced) for track in facts.subtitles] == [
        ("subrip", True, "fra", True)
    ]


async def test_a_silent_video_has_no_audio(folder: Path) -> None:
    assert (await probe(make_clip(BUILD, folder / "silent.mp4", X264))).audio == ()


async def test_a_file_name_is_never_an_option(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "-i").write_bytes(data)
    assert (await probe(tmp_path / "-i")).video is not None


async def test_count_frames_reads_to_the_end(clip: Path, folder: Path) -> None:
    for path in (clip, copy(clip, folder / "counted.mkv")):
        counted = await count_frames(path)
        assert (counted.frames, counted.rate, counted.variable_rate) == (FRAMES, NTSC, False)
        assert abs(counted.duration - FRAMES / NTSC) <= Fraction(1, 1000)
        assert counted.longest_gop is not None
        assert abs(counted.longest_gop - 47 / NTSC) <= Fraction(1, 500)


async def test_a_source_on_the_web_is_probed_in_parts(clip: Path, data: bytes) -> None:
    padding = (8 * BLOCK).to_bytes(4, "big") + b"free" + bytes(8 * BLOCK - 8)
    padded = data + padding + padding
    expected = (await probe(clip)).video
    async with WebServer.running() as server:
        server.scripts["/a.mp4"] = file(padded)
        async with open_source(
            parse_address(server.url("/a.mp4")), InputRules(hosts=frozenset({"127.0.0.1"}))
        ) as reader:
            facts = await probe(reader)
    assert (facts.video, facts.size) == (expected, len(padded))
    assert len(server.requests) <= 4


async def test_a_source_in_a_bucket_is_probed_in_parts(clip: Path, bucket_url: str) -> None:
    await Bucket(bucket_url).put_file("video.mp4", clip)
    async with open_source(parse_address(f"{bucket_url}/video.mp4"), InputRules()) as reader:
        assert await probe(reader) == await probe(clip)


async def test_without_range_requests_an_index_at_the_end_needs_a_fetch(clip: Path, data: bytes) -> None:
    rules = InputRules(hosts=frozenset({"127.0.0.1"}))
    filler = (HEAD + 8).to_bytes(4, "big") + b"free" + bytes(HEAD)
    async with WebServer.running() as server:
        server.scripts["/small.mp4"] = plain(data)
        server.scripts["/large.mp4"] = plain(filler + data)
        async with open_source(parse_address(server.url("/small.mp4")), rules) as reader:
            assert (await probe(reader)).video == (await probe(clip)).video
        async with open_source(parse_address(server.url("/large.mp4")), rules) as reader:
            with pytest.raises(SourceUnseekable, match="fetch it"):
                await probe(reader)


def hls(canary: str) -> bytes:
    return f"#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\n{canary}\n#EXT-X-ENDLIST\n".encode()


def concat(canary: str) -> bytes:
    return f"ffconcat version 1.0\nfile '{canary}'\n".encode()


def dash(canary: str) -> bytes:
    return (
        '<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static"><Period><AdaptationSet>'
        f'<Representation id="1"><BaseURL>{canary}</BaseURL></Representation></AdaptationSet></Period></MPD>'
    ).encode()


def sdp(canary: str) -> bytes:
    return b"v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=video 5004 RTP/AVP 96\n"


@pytest.mark.parametrize("hostile", [hls, concat, dash, sdp])
@pytest.mark.parametrize("where", ["file", "beside", "web"])
async def test_a_list_of_other_files_is_refused_and_none_of_them_is_read(
    data: bytes, tmp_path: Path, hostile: Callable[[str], bytes], where: str
) -> None:
    (tmp_path / "canary.mp4").write_bytes(data)
    async with WebServer.running() as server:
        server.scripts["/canary.mp4"] = file(data)
        canary = {
            "file": str(tmp_path / "canary.mp4"),
            "beside": "canary.mp4",
            "web": server.url("/canary.mp4"),
        }[where]
        (tmp_path / "video.mp4").write_bytes(hostile(canary))
        with pytest.raises(UnusableSource) as refused:
            await probe(tmp_path / "video.mp4", LOW_MEMORY)
        assert server.requests == []
    assert refused.value.kind == "format"
    assert refused.value.hint


@pytest.mark.parametrize(
    "kind, data",
    [
        ("empty", b""),
        ("not_a_video", b"Dear diary, today nothing happened.\n" * 300),
        ("not_a_video", bytes(100_000)),
        ("not_a_video", hashlib.sha512(b"noise").digest() * 1000),
    ],
)
async def test_a_file_that_is_not_a_video_is_refused(tmp_path: Path, kind: str, data: bytes) -> None:
    (tmp_path / "video.mp4").write_bytes(data)
    with pytest.raises(UnusableSource) as refused:
        await probe(tmp_path / "video.mp4", LOW_MEMORY)
    assert refused.value.kind == kind


@pytest.mark.parametrize("name, options", [("a.mp4", ""), ("b.mp4", "-movflags +faststart"), ("c.mkv", "")])
async def test_a_truncated_file_is_refused(clip: Path, tmp_path: Path, name: str, options: str) -> None:
    copy(clip, tmp_path / name, *options.split())
    whole = (tmp_path / name).read_bytes()
    (tmp_path / "video.mp4").write_bytes(whole[: len(whole) * 2 // 3])
    with pytest.raises(UnusableSource, match="truncated") as refused:
        await probe(tmp_path / "video.mp4", LOW_MEMORY)
    assert refused.value.kind == "truncated"


def giant_png(side: int) -> bytes:
    """Return a gray picture that takes one byte per pixel once it is decompressed."""
    packer, row = zlib.compressobj(1), bytes(side + 1)
    packed = b"".join(packer.compress(row) for _ in range(side)) + packer.flush()
    parts = [(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)), (b"IDAT", packed), (b"IEND", b"")]
    chunks = [
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body)) for name, body in parts
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


async def test_an_encrypted_source_is_refused(tmp_path: Path) -> None:
    key = ("-encryption_scheme", "cenc-aes-ctr", "-encryption_key", "76a6c65c5ea762046bd749a2e632ccbb",
           "-encryption_kid", "a7e61c373e219033c21091fa607bf3b8")  # fmt: skip
    picture = ("-f", "lavfi", "-i", "testsrc2=size=160x90:rate=25", "-t", "1", *X264.split())
    ffmpeg(BUILD, *picture, *key, str(tmp_path / "cenc.mp4"))
    ffmpeg(BUILD, *picture, *key, "-movflags", "+faststart", str(tmp_path / "fast.mp4"))
    ffmpeg(BUILD, *picture, str(tmp_path / "plain.ts"))
    scrambled = bytearray((tmp_path / "plain.ts").read_bytes())
    for at in range(0, len(scrambled), 188):
        scrambled[at + 3] |= 0x80
    (tmp_path / "scrambled.ts").write_bytes(scrambled)
    for name in ("cenc.mp4", "fast.mp4", "scrambled.ts"):
        with pytest.raises(UnusableSource, match="it is encrypted") as refused:
            await probe(tmp_path / name)
        assert refused.value.kind == "encrypted"
    assert (await probe(tmp_path / "plain.ts")).video is not None


async def test_a_giant_picture_takes_no_memory(tmp_path: Path) -> None:
    (tmp_path / "video.mp4").write_bytes(giant_png(16_000))
    with pytest.raises(UnusableSource, match="png") as picture:
        await probe(tmp_path / "video.mp4", LOW_MEMORY)
    assert picture.value.kind == "format"
    giant = ("-f", "lavfi", "-i", "color=s=8000x8000:r=25", "-frames:v", "1", "-c:v", "mjpeg", "-f", "matroska")
    ffmpeg(BUILD, *giant, str(tmp_path / "video.mp4"))
    with pytest.raises(UnusableSource, match="can't be decoded"):
        await probe(tmp_path / "video.mp4", LOW_MEMORY)


async def test_a_codec_that_is_not_on_the_list_is_refused(tmp_path: Path) -> None:
    make_clip(BUILD, tmp_path / "video.mkv", "-c:v magicyuv -pix_fmt gbrp")
    with pytest.raises(UnusableSource, match="magicyuv") as refused:
        await probe(tmp_path / "video.mkv", LOW_MEMORY)
    assert refused.value.kind == "codec"


async def test_two_frames_ten_hours_apart_are_probed_but_not_planned(tmp_path: Path) -> None:
    picture = ("-f", "lavfi", "-i", "color=s=64x64:r=1/36000", "-frames:v", "2")
    ffmpeg(BUILD, *picture, "-c:v", "libx264", "-f", "matroska", str(tmp_path / "video.mp4"))
    found = await run_child("probe", tmp_path / "video.mp4", LOW_MEMORY)
    facts = SourceFacts.from_json(found.facts)
    assert facts.video is not None
    assert (facts.video.rate, facts.video.frames) == (Fraction(1, 36000), 2)
    assert found.memory < 150 * 1024**2
    with pytest.raises(SourceRefused):
        make_plan(facts, PROFILE)


async def test_a_file_with_too_many_streams_is_refused(tmp_path: Path) -> None:
    maps = ["-map", "0"] * 70
    sound = ("-f", "lavfi", "-i", "sine=sample_rate=8000", "-t", "0.1")
    ffmpeg(BUILD, *sound, *maps, "-c:a", "pcm_u8", "-f", "matroska", str(tmp_path / "video.mp4"))
    with pytest.raises(UnusableSource, match="70 streams") as refused:
        await probe(tmp_path / "video.mp4", LOW_MEMORY)
    assert refused.value.kind == "too_many_streams"


class CallbackReader:
    """A source that calls a function at each read."""

    def __init__(self, data: bytes, on_read: Callable[[], Awaitable[None]]) -> None:
        self.size = len(data)
        self._data = data
        self._on_read = on_read

    async def read(self, offset: int, length: int) -> bytes:
        await self._on_read()
        return self._data[offset : offset + length]


async def block() -> None:
    await asyncio.Event().wait()


def children() -> list[int]:
    """Return the probe processes of this process, without the sandboxes around them."""
    running = {int(path.name): path for path in Path("/proc").glob("[0-9]*")}
    return [pid for pid, path in running.items() if is_probe(path) and is_descendant(pid)]


def is_probe(process: Path) -> bool:
    try:
        program, *arguments = (process / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return program == os.fsencode(sys.executable) and any(each.endswith(b"/probe_child") for each in arguments[:2])


def is_descendant(pid: int) -> bool:
    while pid > 1:
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return False
        if pid == os.getpid():
            return True
    return False


class BytesReader:
    """A source in memory."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.size = len(data)

    async def read(self, offset: int, length: int) -> bytes:
        return self.data[offset : offset + length]


@contextlib.contextmanager
def open_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


ATTACK = """
import json, os, resource, socket, struct, sys
child_frame, parent_frame = struct.Struct(">cQI"), struct.Struct(">cI")

def receive():
    length = parent_frame.unpack(sys.stdin.buffer.read(parent_frame.size))[1]
    return json.loads(sys.stdin.buffer.read(length))

request = receive()
sys.stdout.buffer.write(child_frame.pack(b"R", 0, request["size"]))
sys.stdout.buffer.flush()
targets = receive()

def read():
    return open({secret!r}).read()

def write():
    open({written!r}, "w").write("x")

def connect():
    socket.create_connection(("127.0.0.1", targets["port"]), 5)

def signals():
    os.kill(targets["worker"], 0)

def limits():
    resource.setrlimit(resource.RLIMIT_NOFILE, (16, 16))
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))

def attempt(work):
    try:
        work()
        return "done"
    except Exception:
        return "refused"

facts = {{work.__name__: attempt(work) for work in (read, write, connect, signals, limits)}}
answer = json.dumps({{"facts": facts, "memory": 0}}).encode()
sys.stdout.buffer.write(child_frame.pack(b"A", 0, len(answer)) + answer)
sys.stdout.buffer.flush()
"""
"""A probe that attacks the machine as a hostile source would, and reports what was refused."""


def environment_and_limits(pid: int) -> str:
    return Path(f"/proc/{pid}/environ").read_text() + Path(f"/proc/{pid}/limits").read_text()


@pytest.mark.parametrize(
    "number, error, message",
    [(signal.SIGKILL, SourceUnavailable, "killed"), (signal.SIGSEGV, UnusableSource, "crashed")],
)
async def test_a_killed_probe_is_retried_and_a_crashed_probe_is_not(
    data: bytes, number: signal.Signals, error: type[SourceError], message: str
) -> None:
    async def send_signal() -> None:
        for pid in children():
            os.kill(pid, number)

    with pytest.raises(error, match=message):
        await probe(CallbackReader(data, send_signal))


async def test_a_probe_has_no_secrets_no_files_and_limited_memory(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s3cret")
    seen: list[str] = []

    async def watch() -> None:
        (pid,) = children()
        seen.append(environment_and_limits(pid))

    await probe(CallbackReader(data, watch))
    assert seen
    assert "s3cret" not in seen[-1]
    limits = {" ".join(line.split()[:4]) for line in seen[-1].splitlines()}
    assert {"Max file size 0", f"Max address space {ProbeLimits().memory}"} <= limits
    hard = {line.split("  ")[0]: line.split()[-2] for line in seen[-1].splitlines() if line.startswith("Max")}
    assert (hard["Max open files"], hard["Max processes"], hard["Max file size"]) == ("16", "0", "0")


@pytest.mark.parametrize("wall", ["bubblewrap", "landlock"])
async def test_a_hijacked_probe_reaches_no_file_network_process_or_higher_limit(
    wall: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if wall == "landlock":
        monkeypatch.setattr(sandbox, "_bubblewrap", lambda: None)
    sandbox._isolation.cache_clear()
    if (await probe_wall()).kind != wall:
        pytest.skip(f"NOT TESTED: no {wall} on this machine")
    secret = tmp_path / "secret"
    secret.write_text("hunter2")
    secret.chmod(0o600)
    hijacked = tmp_path / "hijacked.py"
    hijacked.write_text(ATTACK.format(secret=str(secret), written=str(tmp_path / "written")))
    monkeypatch.setattr(probe_module, "PROGRAM", hijacked)
    probe_module._python_paths.cache_clear()
    try:
        with open_port() as port:
            targets = json.dumps({"port": port, "worker": os.getpid()}).encode()
            found = (await run_child("probe", BytesReader(targets), sandbox=Sandbox(REQUIRE))).facts
    finally:
        probe_module._python_paths.cache_clear()
        sandbox._isolation.cache_clear()
    assert not (tmp_path / "written").exists()  # in bubblewrap it may write to a /tmp of its own
    assert {**found, "write": ""} == {
        "read": "refused", "write": "", "connect": "refused", "signals": "refused", "limits": "refused"
    }  # fmt: skip


async def test_without_a_sandbox_require_refuses_to_probe(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "_bubblewrap", lambda: None)
    monkeypatch.setattr(confine, "landlock_version", lambda: 0)
    sandbox._isolation.cache_clear()
    try:
        with pytest.raises(ReelstateError, match=r"can't be run in a sandbox: bubblewrap .* no Landlock"):
            await probe(BytesReader(data), sandbox=Sandbox(REQUIRE))
        assert str(await probe_wall()).startswith("limits only (bubblewrap (bwrap) is not installed; ")
    finally:
        sandbox._isolation.cache_clear()


async def test_a_source_that_blocks_times_out(data: bytes) -> None:
    with pytest.raises(SourceUnavailable, match="took longer than") as late:
        await probe(CallbackReader(data, block), ProbeLimits(wall_seconds=0.5))
    assert late.value.retryable
    assert children() == []


async def test_a_cancelled_probe_leaves_no_process(data: bytes) -> None:
    started = asyncio.Event()

    async def start() -> None:
        started.set()
        await block()

    task = asyncio.create_task(probe(CallbackReader(data, start)))
    await started.wait()
    assert len(children()) == 1
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert children() == []


async def test_a_read_error_is_raised(data: bytes) -> None:
    async def broken() -> None:
        raise SourceUnavailable("the connection is closed")

    with pytest.raises(SourceUnavailable, match="the connection is closed"):
        await probe(CallbackReader(data, broken))


async def test_the_open_file_is_probed_even_if_its_path_changes(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "video.mp4").write_bytes(data)
    with open_file(LocalAddress(tmp_path / "video.mp4"), InputRules()) as source:
        (tmp_path / "video.mp4").unlink()
        (tmp_path / "video.mp4").write_bytes(b"something else")
        assert (await probe(FileReader(source))).size == len(data)


def test_a_worker_never_imports_pyav() -> None:
    run_checked([sys.executable, "-c", "import sys, reelstate.media.sources.probe; assert 'av' not in sys.modules"])
