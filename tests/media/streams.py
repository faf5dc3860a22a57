"""Streams for tests: chunks made by a real ffmpeg, and a whole package of them in memory."""

import hashlib
import shutil
import subprocess
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from reelstate.media.formats import dash, hls
from reelstate.media.formats.fragmented_mp4 import FragmentedMp4, parse_mp4
from reelstate.media.formats.segment import Segment
from reelstate.media.packaging.manifest import Manifest
from reelstate.media.packaging.verify import VerifyReport, verify

Json = Any
RATE = Fraction(30000, 1001)
SEGMENT_FRAMES = 15
CHUNK_FRAMES = 30
CHUNKS = 2
FRAMES = CHUNK_FRAMES * CHUNKS
DURATION = FRAMES / RATE
SIZES = {"180p": (320, 180), "90p": (160, 90)}
GRID = f"-g {SEGMENT_FRAMES} -keyint_min {SEGMENT_FRAMES} -sc_threshold 0 -flags +cgop+bitexact -fflags +bitexact"
X264 = f"-c:v libx264 -preset ultrafast -bf 2 {GRID} -maxrate 900k -bufsize 1800k"
PACKAGE = "versions/7/package/0/3"


@cache
def builds() -> dict[str, str]:
    """The builds of ffmpeg that are here, by name."""
    found = {"path": shutil.which("ffmpeg"), "wheel": import_module("imageio_ffmpeg").get_ffmpeg_exe()}
    return {name: path for name, path in found.items() if path}


def run(build: str, *arguments: str) -> bytes:
    done = subprocess.run(
        [builds()[build], "-nostdin", "-hide_banner", "-loglevel", "error", "-y", *arguments],
        check=True,
        capture_output=True,
    )
    return done.stdout


@cache
def has_encoder(build: str, name: str) -> bool:
    return f" {name} ".encode() in run(build, "-encoders")


def picture(size: tuple[int, int] = (320, 180), frames: int = FRAMES) -> str:
    return f"testsrc2=size={size[0]}x{size[1]}:rate={RATE}:duration={float((frames + 1) / RATE)}"


def chunk(build: str, folder: Path, number: int, *, size: tuple[int, int] = (320, 180), encoder: str = X264) -> bytes:
    """Chunk `number` of the test picture, with absolute times, as a worker makes it."""
    path = folder / f"{number}-{size[1]}.mp4"
    first = number * CHUNK_FRAMES
    cut = f"trim=start_frame={first}:end_frame={first + CHUNK_FRAMES},setpts=PTS-STARTPTS"
    moov = "empty_moov" if number else "delay_moov"
    run(
        build, "-f", "lavfi", "-i", picture(size), "-vf", cut, "-r", str(RATE),
        "-frames:v", str(CHUNK_FRAMES), *encoder.split(),
        "-pix_fmt", "yuv420p", "-f", "mp4", "-video_track_timescale", "30000",
        "-movflags", f"+frag_keyframe+{moov}+default_base_moof+frag_discont", "-avoid_negative_ts", "disabled",
        "-output_ts_offset", f"{float(first / RATE):.6f}", str(path),
    )  # fmt: skip
    return path.read_bytes()


def sound(build: str, folder: Path, seconds: Fraction = DURATION, *, channels: int = 2) -> bytes:
    path = folder / "sound.mp4"
    run(
        build, "-f", "lavfi", "-i", f"sine=frequency=440:sample_rate=48000:duration={float(seconds)}",
        *["-c:a", "aac", "-b:a", "96k", "-ac", str(channels)],
        *["-flags", "+bitexact", "-fflags", "+bitexact", "-f", "mp4"],
        *["-movflags", "+delay_moov+default_base_moof", "-frag_duration", "500000"], str(path),
    )  # fmt: skip
    return path.read_bytes()


def recorded(segments: Sequence[Segment]) -> list[list[int]]:
    return [[segment.offset, segment.size, segment.duration, segment.key_size] for segment in segments]


@dataclass
class Package:
    """A package in memory that tests may spoil."""

    files: dict[str, bytes]
    manifest: Json
    """As JSON, so that tests can put anything into it."""
    reads: list[tuple[str, int, int]] = field(default_factory=list)

    async def get(self, key: str, start: int, length: int) -> bytes:
        self.reads.append((key, start, length))
        if key not in self.files:
            raise FileNotFoundError(key)
        return self.files[key][start : start + length]

    async def verify(self) -> VerifyReport:
        return await verify(self.get, Manifest.from_json(self.manifest))

    def put(self, key: str, data: bytes) -> None:
        """Write a file and record it, as a faulty packager would: the hash is right, the content wrong."""
        self.files[key] = data
        self.manifest["files"][key] = {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}

    def edit(self, key: str, change: Callable[[str], str]) -> None:
        before = self.files[key].decode()
        after = change(before)
        assert after != before
        self.put(key, after.encode())

    def copy(self) -> "Package":
        return Package(dict(self.files), deepcopy(self.manifest))


@dataclass
class Track:
    """A rung or a sound track with its files, in the making."""

    name: str
    chunks: dict[str, FragmentedMp4]

    @property
    def first(self) -> FragmentedMp4:
        return next(iter(self.chunks.values()))

    @property
    def init(self) -> str:
        return f"{PACKAGE}/{self.name}-init.mp4"

    def entries(self) -> list[Json]:
        return [{"key": key, "segments": recorded(boxes.segments)} for key, boxes in self.chunks.items()]

    def parts(self, playlist: str) -> list[hls.Part]:
        timescale = self.first.track.timescale
        return [
            part
            for key, boxes in self.chunks.items()
            for part in hls.segment_parts(hls.relative_uri(playlist, key), recorded(boxes.segments), timescale)
        ]


def package(build: str, folder: Path, *, with_sound: bool = True) -> Package:
    """Two rungs in two chunks, a sound track and captions, with every playlist."""
    made = Package({}, _empty())
    rungs = [_rung(made, build, folder, name) for name in SIZES]
    tracks = [_sound(made, build, folder)] if with_sound else []
    _captions(made)
    for track in [*rungs, *tracks]:
        made.put(track.init, track.first.init)
    _playlists(made, rungs, tracks)
    return made


def _empty() -> Json:
    return {
        "rate": str(RATE), "frames": FRAMES, "duration": str(DURATION), "files": {},
        "master": f"{PACKAGE}/master.m3u8", "dash": f"{PACKAGE}/manifest.mpd", "rungs": [], "audio": [], "captions": [],
    }  # fmt: skip


def _rung(made: Package, build: str, folder: Path, name: str) -> Track:
    track = Track(name, {})
    for number in range(CHUNKS):
        key = f"versions/7/encode/{number}/1/{name}.mp4"
        made.put(key, chunk(build, folder, number, size=SIZES[name]))
        track.chunks[key] = parse_mp4(made.files[key]).with_counts([SEGMENT_FRAMES] * (CHUNK_FRAMES // SEGMENT_FRAMES))
    entry: Json = {
        "name": name, "init": track.init, "playlist": f"{PACKAGE}/video/{name}.m3u8",
        "key_frames": f"{PACKAGE}/iframe/{name}.m3u8", "chunks": track.entries(),
    }  # fmt: skip
    made.manifest["rungs"].append(entry)
    return track


def _sound(made: Package, build: str, folder: Path) -> Track:
    key = "versions/7/audio/0/1/sound.mp4"
    made.put(key, sound(build, folder))
    track = Track("0", {key: parse_mp4(made.files[key]).merge_after(DURATION)})
    entry: Json = {
        "name": "0", "init": track.init, "playlist": f"{PACKAGE}/audio/0.m3u8", "duration": None,
        "chunks": track.entries(),
    }  # fmt: skip
    made.manifest["audio"].append(entry)
    return track


def _captions(made: Package) -> None:
    entry: Json = {"name": "0", "playlist": f"{PACKAGE}/captions/0.m3u8", "file": f"{PACKAGE}/0.vtt"}
    made.put(entry["file"], b"WEBVTT\n\n00:00:00.000 --> 00:00:01.000\nHello\n")
    uri = hls.relative_uri(entry["playlist"], entry["file"])
    made.put(entry["playlist"], hls.captions_playlist(uri, DURATION).encode())
    made.manifest["captions"].append(entry)


def _playlists(made: Package, rungs: Sequence[Track], tracks: Sequence[Track]) -> None:
    manifest = made.manifest
    for entry, track in zip([*manifest["rungs"], *manifest["audio"]], [*rungs, *tracks], strict=True):
        init = hls.relative_uri(entry["playlist"], track.init)
        made.put(entry["playlist"], hls.media_playlist(track.parts(entry["playlist"]), init).encode())
    for rung, track in zip(manifest["rungs"], rungs, strict=True):
        key = rung["key_frames"] or ""
        made.put(key, hls.key_frame_playlist(track.parts(key), hls.relative_uri(key, track.init)).encode())
    master = manifest["master"]
    variants = [_variant(master, entry, track) for entry, track in zip(manifest["rungs"], rungs, strict=True)]
    audio = [_rendition(master, entry, track) for entry, track in zip(manifest["audio"], tracks, strict=True)]
    captions = [
        hls.Rendition(uri=hls.relative_uri(master, entry["playlist"]), name="English", language="en")
        for entry in manifest["captions"]
    ]
    made.put(master, hls.master_playlist(variants, audio, captions).encode())
    key = manifest["dash"] or ""
    video = [_representation(key, track) for track in rungs]
    made.put(key, dash.build_manifest(DURATION, video, [_representation(key, track) for track in tracks]).encode())


def _variant(master: str, entry: Json, track: Track) -> hls.Variant:
    parts = track.parts(master)
    return hls.Variant(
        uri=hls.relative_uri(master, entry["playlist"]), codec=track.first.track.codec,
        width=track.first.track.width, height=track.first.track.height, frame_rate=RATE, rates=hls.measure_rates(parts),
        key_frames_uri=hls.relative_uri(master, entry["key_frames"] or ""),
        key_frames=hls.measure_rates(hls.key_frame_parts(parts)),
    )  # fmt: skip


def _rendition(master: str, entry: Json, track: Track) -> hls.Rendition:
    return hls.Rendition(
        uri=hls.relative_uri(master, entry["playlist"]), name="English", language="en", default=True,
        codec=track.first.track.codec, channels=2, rates=hls.measure_rates(track.parts(master)),
    )  # fmt: skip


def _representation(key: str, track: Track) -> dash.Representation:
    found, parts = track.first.track, track.parts(key)
    return dash.Representation(
        name=track.name, init_uri=hls.relative_uri(key, track.init), timescale=found.timescale, parts=parts,
        bandwidth=hls.measure_rates(parts).peak, codec=found.codec, width=found.width, height=found.height,
        frame_rate=RATE if found.kind == "video" else Fraction(0), channels=found.channels,
        sample_rate=found.sample_rate,
    )  # fmt: skip
