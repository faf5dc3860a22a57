"""The chunks of a source, joined, show exactly the frames that the source shows, one for one, bit by bit."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from reelstate.media.ffmpeg import commands
from reelstate.media.formats.fragmented_mp4 import FragmentedMp4, parse_mp4
from reelstate.media.planning.grid import Chunk
from reelstate.media.planning.plan import Plan, make_plan, settle_plan
from reelstate.media.planning.profile import Rung
from reelstate.media.sources.facts import SourceFacts
from tests.media.clips import (
    FRAMES,
    LOSSLESS,
    NTSC,
    PICTURE,
    X264,
    facts_of,
    ffmpeg,
    frames_of,
    make_clip,
    on_grid,
    rotate_mp4,
    run_checked,
    sound_facts,
)
from tests.media.streams import builds, has_encoder

BUILDS = sorted(builds())
SOUND = ("-f", "lavfi", "-i", "sine=sample_rate=48000:duration=4")
UNEVEN = "settb=1/90000,select='gt(random(1),0.3)',setpts='PTS+random(2)*0.03/TB'"
GAP = "select='not(between(n,25,50))'"
OUTPUT = "flags=bicubic:out_range=tv,setsar=1,format=yuv420p"


def a_clip(kind: str, build: str, folder: Path) -> SourceFacts:
    """Make `source` in the folder and return its facts, after a remux where that is needed."""
    path = folder / "source"
    match kind:
        case "mp4 with sound":
            make_clip(build, path, f"{X264} -c:a aac -f mp4", inputs=SOUND)
        case "mkv":
            make_clip(build, path, f"{X264} -f matroska")
        case "MPEG-TS":
            return remuxed(build, make_clip(build, folder / "raw", f"{X264} -f mpegts"), path)
        case "twice too fast":
            ffmpeg(
                build, "-f", "lavfi", "-i", PICTURE, "-frames:v", str(2 * FRAMES), *X264.split(), "-f", "mp4", str(path)
            )
        case "25 frames/s":
            make_clip(build, path, f"{X264} -r 25 -f mp4")
            return facts_of(build, path, Fraction(25))
        case "uneven frames" | "uneven frames in mkv":
            container = "matroska" if "mkv" in kind else "mp4"
            make_clip(build, path, f"-vf {UNEVEN} -fps_mode vfr {X264} -enc_time_base 1/90000 -f {container}")
            return facts_of(build, path, variable_rate=True, rate=NTSC)
        case "a gap of frames":
            make_clip(build, path, f"-vf {GAP} -fps_mode vfr {X264} -f matroska")
            return facts_of(build, path, variable_rate=True, rate=NTSC)
        case "turned":
            rotate_mp4(make_clip(build, path, f"{X264} -f mp4"))
            return facts_of(build, path, rotation=90)
        case "10 bit" | "10 bit in full range":
            colours = "-color_range pc" if "full" in kind else ""
            make_clip(build, path, f"{X264} -pix_fmt yuv420p10le {colours} -f mp4")
            return facts_of(build, path, pixel_format="yuv420p10le", bits=10)
        case "open GOP":
            make_clip(build, path, f"{X264} -x264-params open-gop=1 -f mp4")
        case "open GOP in hevc":
            params = "log-level=error:keyint=47:min-keyint=47:open-gop=1:bframes=4"
            make_clip(build, path, f"-c:v libx265 -preset ultrafast -x265-params {params} -pix_fmt yuv420p -f mp4")
        case "full range":
            make_clip(build, path, f"{X264} -pix_fmt yuvj420p -f mp4")
        case "late picture":
            ffmpeg(build, *SOUND, "-itsoffset", "0.517", "-f", "lavfi", "-i", PICTURE,
                   "-frames:v", str(FRAMES), *X264.split(), "-c:a", "aac", "-f", "mp4", str(path))  # fmt: skip
            return facts_of(build, path, index=video_index(build, path))
        case _:
            raise AssertionError(kind)
    return facts_of(build, path)


def video_index(build: str, path: Path) -> int:
    """Picture first or second, as the maker of the file put it."""
    text = ffmpeg(build, "-i", str(path), "-map", "0", "-c", "copy", "-f", "framemd5", "-").decode()
    return 0 if "#media_type 0: video" in text else 1


def remuxed(build: str, raw: Path, path: Path) -> SourceFacts:
    unindexed = replace(facts_of(build, raw), indexed=False)
    assert commands.remux_format(unindexed) == "mp4"
    run_checked(commands.remux(builds()[build], unindexed, str(raw), str(path)))
    return facts_of(build, path)


def in_one_piece(plan: Plan) -> Plan:
    return replace(plan, grid=replace(plan.grid, chunk_frames=plan.grid.frames))


def encoded(build: str, plan: Plan, source: Path) -> list[dict[str, bytes]]:
    """The files of every chunk, by rung."""
    return [encoded_chunk(build, plan, chunk, source) for chunk in plan.grid.chunks()]


def encoded_chunk(build: str, plan: Plan, chunk: Chunk, source: Path) -> dict[str, bytes]:
    outputs = {rung.name: source.parent / f"{rung.name}-{chunk.number}.mp4" for rung in plan.rungs}
    paths = {name: str(path) for name, path in outputs.items()}
    run_checked(commands.encode_chunk(builds()[build], plan, chunk, str(source), paths, threads=1))
    return {name: path.read_bytes() for name, path in outputs.items()}


def joined(chunks: list[bytes]) -> bytes:
    """The header of the first and the segments of all: what a player puts together."""
    parsed = [parse_mp4(data) for data in chunks]
    segments = [
        data[each.offset : each.end] for data, file in zip(chunks, parsed, strict=True) for each in file.segments
    ]
    return parsed[0].init + b"".join(segments)


def shown(build: str, folder: Path, stream: bytes) -> list[str]:
    (folder / "joined.mp4").write_bytes(stream)
    return [frame.digest for frame in frames_of(build, folder / "joined.mp4")]


KINDS = [
    "mp4 with sound",
    "mkv",
    "MPEG-TS",
    "25 frames/s",
    "uneven frames",
    "uneven frames in mkv",
    "a gap of frames",
    "turned",
    "10 bit",
    "open GOP",
    "open GOP in hevc",
    "full range",
    "10 bit in full range",
    "twice too fast",
    "late picture",
]


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("kind", KINDS)
def test_chunks_joined_show_every_frame_of_the_source(kind: str, build: str, tmp_path: Path) -> None:
    facts = a_clip(kind, build, tmp_path)
    plan = settle_plan(make_plan(facts, replace(LOSSLESS, max_rate=15 if kind == "twice too fast" else 60)), facts)
    source = tmp_path / "source"
    chunks = encoded(build, plan, source)
    whole = encoded(build, in_one_piece(plan), source)[0]["90p"]
    assert len(chunks) >= 3
    assert shown(build, tmp_path, joined([chunk["90p"] for chunk in chunks])) == shown(build, tmp_path, whole)
    assert facts.video is not None
    for rung in plan.rungs:
        found = shown(build, tmp_path, joined([chunk[rung.name] for chunk in chunks]))
        frames = frames_of(build, source, f"scale={rung.width}:{rung.height}:{OUTPUT}")
        assert found == on_grid(frames, plan.grid.rate, facts.video.start, plan.grid.frames)
        assert len(set(found)) > len(found) // 2, "the frames of the clip differ, or nothing is proved"


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("kind", ["interlaced", "high dynamic range"])
def test_chunks_of_a_filtered_source_are_those_of_the_whole(kind: str, build: str, tmp_path: Path) -> None:
    source = tmp_path / "source"
    if kind == "interlaced":
        fields = f"testsrc2=size=160x96:rate={2 * NTSC}"
        make_clip(build, source, f"-vf interlace=lowpass=0 {X264} -g 30 -flags +ildct+ilme -f mp4", picture=fields)
        facts = facts_of(build, source, interlaced=True, height=96)
    else:
        tags = "-color_primaries bt2020 -color_trc smpte2084 -colorspace bt2020nc"
        make_clip(build, source, f"{X264} -pix_fmt yuv420p10le {tags} -f mp4")
        facts = facts_of(build, source, transfer="smpte2084", primaries="bt2020", matrix="bt2020nc", bits=10)
    chunked_at_key_frames = replace(LOSSLESS, segment_seconds=1)
    plan = settle_plan(make_plan(facts, chunked_at_key_frames), facts)
    chunks = encoded(build, plan, source)
    whole = encoded(build, in_one_piece(plan), source)[0]
    found = shown(build, tmp_path, joined([chunk["90p"] for chunk in chunks]))
    assert len(chunks) == 2
    assert len(found) == plan.grid.frames
    assert found == shown(build, tmp_path, whole["90p"])
    rung = plan.rungs[0]
    plain = frames_of(build, source, f"scale={rung.width}:{rung.height}:{OUTPUT}")
    assert found[10:20] != [frame.digest for frame in plain[10:20]], "the filter did something"


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize(
    "codec, preset", [("h264", "ultrafast"), ("h264", "fast"), ("hevc", "veryfast"), ("av1", "12")]
)
def test_segments_are_equal_in_every_rung_and_follow_each_other_without_a_gap(
    codec: str, preset: str, build: str, tmp_path: Path
) -> None:
    rungs = tuple(
        Rung(name=f"{side}p", height=side, codec=codec, crf=30, max_bitrate=300_000, preset=preset) for side in (90, 64)
    )
    cuts = "negate=enable='lt(mod(n,10),5)'"
    facts = facts_of(build, make_clip(build, tmp_path / "source", f"-vf {cuts} {X264} -f mp4"))
    plan = settle_plan(make_plan(facts, replace(LOSSLESS, rungs=rungs)), facts)
    if not all(has_encoder(build, name) for name in plan.encoders):
        pytest.skip(f"NOT TESTED: this ffmpeg has no {', '.join(plan.encoders)}")
    chunks = encoded(build, plan, tmp_path / "source")
    for rung in plan.rungs:
        check_segments(plan, [parse_mp4(chunk[rung.name]) for chunk in chunks])
        assert len(shown(build, tmp_path, joined([chunk[rung.name] for chunk in chunks]))) == FRAMES


def check_segments(plan: Plan, files: list[FragmentedMp4]) -> None:
    grid, clock = plan.grid, 0
    assert len({file.init_hash for file in files}) == 1, "every chunk fits the header of the first"
    assert len({file.init for file in files[1:]}) == 1, "and the later ones have the same header to the byte"
    for chunk, file in zip(grid.chunks(), files, strict=True):
        assert file.track.timescale == grid.timescale
        assert [segment.samples for segment in file.segments] == list(chunk.segments)
        for segment in file.segments:
            assert segment.starts_with_sync
            assert segment.decode_time == clock
            assert segment.duration == segment.samples * grid.frame_ticks
            clock = segment.end_time
    assert clock == grid.frames * grid.frame_ticks


@pytest.mark.parametrize("build", BUILDS)
def test_the_same_chunk_made_again_is_the_same_to_the_byte(build: str, tmp_path: Path) -> None:
    facts = facts_of(build, make_clip(build, tmp_path / "source", f"{X264} -f mp4"))
    rungs = (replace(LOSSLESS.rungs[0], crf=28, preset="fast", max_bitrate=200_000),)
    plan = settle_plan(make_plan(facts, replace(LOSSLESS, rungs=rungs)), facts)
    chunk = plan.grid.chunks()[1]
    assert encoded_chunk(build, plan, chunk, tmp_path / "source") == encoded_chunk(
        build, plan, chunk, tmp_path / "source"
    )


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("lead", [Fraction(0), Fraction(1, 2), Fraction(-1, 2)])
def test_sound_is_in_time_and_as_long_as_the_picture(lead: Fraction, build: str, tmp_path: Path) -> None:
    """A tone begins one second into the sound; `lead` is by how much the sound starts before the picture."""
    tone = "aevalsrc='gte(t,1)*sin(2764.6*t)':s=44100:d=1.7"
    shift = ("-itsoffset", str(float(lead))) if lead > 0 else ()
    wait = ("-itsoffset", str(float(-lead))) if lead < 0 else ()
    source = tmp_path / "source.mkv"
    picture = f"{PICTURE}:duration={float((FRAMES - Fraction(1, 2)) / NTSC)}"
    ffmpeg(
        build, *shift, "-f", "lavfi", "-i", picture, *wait, "-f", "lavfi", "-i", tone,
        "-map", "0:v", "-map", "1:a", *X264.split(), "-c:a", "flac", str(source),
    )  # fmt: skip
    facts = replace(facts_of(build, source), audio=(replace(sound_facts(), codec="flac"),))
    plan = settle_plan(make_plan(facts, LOSSLESS), facts)
    track, made = plan.audio[0], tmp_path / "sound.mp4"
    run_checked(commands.encode_audio(builds()[build], plan, track, str(source), str(made)))
    samples = ffmpeg(build, "-i", str(made), "-map", "0:a", "-ac", "1", "-f", "s16le", "-")
    values = memoryview(samples).cast("h")
    file = parse_mp4(made.read_bytes())
    assert track.samples <= file.duration - file.track.media_time < track.samples + 1024, "the last AAC frame is filled"
    primed = len(values) > file.duration - file.track.media_time + 1023  # not every decoder applies the edit list
    begins = next(place for place, value in enumerate(values) if abs(value) > 16_000) - primed * file.track.media_time
    assert abs(begins - (1 - lead) * 48_000) < 240, "to five milliseconds"
    assert (file.track.sample_rate, file.track.channels) == (48_000, 2)
    assert len(file.segments) == 3
    wanted = plan.grid.time(plan.grid.segment_frames) * 48_000
    assert all(abs(segment.duration - wanted) <= 2048 for segment in file.segments[:-1])
