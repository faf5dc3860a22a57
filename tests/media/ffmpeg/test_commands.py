import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from reelstate.media.ffmpeg import commands
from reelstate.media.ffmpeg.commands import SAFE_INPUT, SCORES
from reelstate.media.formats.fragmented_mp4 import parse_mp4
from reelstate.media.planning.plan import Plan, make_plan, settle_plan
from reelstate.media.planning.profile import load_profile
from reelstate.media.sources.facts import SourceFacts, SubtitleFacts, VideoFacts
from tests.media.clips import FRAMES, LOSSLESS, X264, facts_of, ffmpeg, make_clip, run, run_checked, sound_facts
from tests.media.streams import builds

BUILDS = sorted(builds())
WORDS = SubtitleFacts(index=2, codec="subrip", text=True, language="eng")
FACTS = SourceFacts(
    container="mov",
    size=1,
    duration=Fraction(120),
    indexed=True,
    video=VideoFacts(index=0, codec="h264", width=1920, height=1080, rate=Fraction(25), duration=Fraction(120)),
    audio=(sound_facts(duration=Fraction(120)),),
    subtitles=(WORDS,),
)


def every_command(plan: Plan) -> dict[str, list[str]]:
    chunk, rung = plan.grid.chunks()[-1], plan.rungs[0]
    assert plan.poster is not None
    assert plan.sprites is not None
    outputs = {rung.name: f"/out/{rung.name}.mp4" for rung in plan.rungs}
    return {
        "remux": commands.remux("ffmpeg", FACTS, "/in", "/out"),
        "encode": commands.encode_chunk("ffmpeg", plan, chunk, "/in", outputs, threads=2),
        "audio": commands.encode_audio("ffmpeg", plan, plan.audio[0], "/in", "/out"),
        "poster": commands.poster("ffmpeg", plan, plan.poster, "/in", "/out"),
        "sprites": commands.sprite_sheets("ffmpeg", plan, plan.sprites, "/in", "/out"),
        "captions": commands.captions("ffmpeg", plan, plan.captions[0], "/in", "/out"),
        "check": commands.decode_check("ffmpeg", {"/in": 10}),
        "compare": commands.compare("ffmpeg", plan, chunk, rung, "/in", "/made", "ssim"),
    }


COMMANDS = every_command(make_plan(FACTS, load_profile("h264")))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_input_is_limited_to_the_lists_and_every_path_is_a_file(name: str) -> None:
    argv = COMMANDS[name]
    inputs = [place for place, word in enumerate(argv) if word == "-i"]
    assert inputs
    for place in inputs:
        assert tuple(argv[place - len(SAFE_INPUT) : place]) == SAFE_INPUT
        assert argv[place + 1].startswith("file:/")
    assert argv[-1].startswith("file:/") or argv[-1] == "-"
    assert {"-nostdin", "-progress"} <= set(argv)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_output_has_an_end(name: str) -> None:
    argv = COMMANDS[name]
    outputs = [place for place, word in enumerate(argv) if word == "-f"]
    begin = argv.index("-i")
    for end in outputs:
        assert {"-frames:v", "-t"} & set(argv[begin:end]), "neither frames nor time are limited"
        begin = end


def test_no_list_names_what_reads_other_files() -> None:
    words = set(",".join(SAFE_INPUT).split(","))
    assert not words & {"hls", "concat", "dash", "sdp", "image2", "lavfi", "http", "https", "tcp", "magicyuv", "data"}


def test_a_chunk_begins_its_grid_at_a_whole_number_of_microseconds() -> None:
    for name in ("24000/1001", "24", "25", "30000/1001", "30", "50", "60000/1001", "60"):
        facts = changed(rate=Fraction(name))
        plan = settle_plan(make_plan(facts, replace(load_profile("h264"), segment_seconds=1, chunk_seconds=1)), facts)
        for chunk in plan.grid.chunks():
            start = plan.grid.origin + plan.grid.time(plan.grid.anchor(chunk))
            assert (start * 1_000_000).denominator == 1
            graph = " ".join(commands.encode_chunk("ffmpeg", plan, chunk, "/in", {"720p": "/out"}))
            found = re.search(r"start_time=([\d.]+)", graph)
            assert found
            assert int(float(found[1]) * 1_000_000) == start * 1_000_000, "as ffmpeg reads it: in binary, cut off"


def changed(**changes: Any) -> SourceFacts:
    assert FACTS.video is not None
    return replace(FACTS, video=replace(FACTS.video, **changes))


def test_no_metadata_of_a_source_reaches_a_command() -> None:
    evil = "x[0];movie=/etc/passwd"
    facts = replace(
        changed(primaries=evil, matrix=evil, transfer="smpte2084", pixel_format=evil),
        audio=(replace(FACTS.audio[0], language=evil, title=evil, layout=evil),),
        subtitles=(replace(WORDS, language=evil, title=evil),),
    )
    for argv in every_command(make_plan(facts, load_profile("h264"))).values():
        assert not any("movie" in word for word in argv)


@pytest.mark.parametrize(
    "video, sound, words, container",
    [
        ("h264", "aac", (), "mp4"),
        ("vp8", "aac", (), "matroska"),
        ("h264", "vorbis", (), "matroska"),
        ("h264", "aac", (WORDS,), "matroska"),
    ],
)
def test_a_remux_goes_to_a_container_that_takes_the_streams(
    video: str, sound: str, words: tuple[SubtitleFacts, ...], container: str
) -> None:
    facts = replace(changed(codec=video), audio=(replace(FACTS.audio[0], codec=sound),), subtitles=words)
    assert commands.remux_format(facts) == container


@pytest.mark.parametrize("build", BUILDS)
def test_poster_and_sprites_are_made_in_their_sizes(build: str, tmp_path: Path) -> None:
    plan, source = a_plan(build, tmp_path)
    poster, sprites = plan.poster, plan.sprites
    assert poster is not None
    assert sprites is not None
    folder = tmp_path / "100% sprites"
    folder.mkdir()
    run_checked(commands.poster(builds()[build], plan, poster, str(source), str(tmp_path / "poster.jpg")))
    run_checked(commands.sprite_sheets(builds()[build], plan, sprites, str(source), str(folder)))
    assert size_of(build, tmp_path / "poster.jpg") == (poster.width, poster.height) == (160, 90)
    assert [path.name for path in folder.iterdir()] == ["sprites-1.jpg"]
    assert size_of(build, folder / "sprites-1.jpg") == (sprites.columns * sprites.width, sprites.rows * sprites.height)
    assert sprites.count == 2


@pytest.mark.parametrize("build", BUILDS)
def test_a_video_with_one_key_frame_has_sprites_too(build: str, tmp_path: Path) -> None:
    plan, source = a_plan(build, tmp_path, f"{X264} -g 1000")
    assert plan.sprites is not None
    run_checked(commands.sprite_sheets(builds()[build], plan, plan.sprites, str(source), str(tmp_path)))
    assert size_of(build, tmp_path / "sprites-1.jpg")[0] == plan.sprites.columns * plan.sprites.width


def a_plan(build: str, folder: Path, options: str = X264) -> tuple[Plan, Path]:
    source = make_clip(build, folder / "source.mp4", options)
    facts = facts_of(build, source)
    return settle_plan(make_plan(facts, LOSSLESS), facts), source


def size_of(build: str, picture: Path) -> tuple[int, int]:
    text = ffmpeg(build, "-f", "mjpeg", "-i", f"file:{picture}", "-f", "framemd5", "-").decode()
    found = re.search(r"#dimensions 0: (\d+)x(\d+)", text)
    assert found
    return int(found[1]), int(found[2])


@pytest.mark.parametrize("build", BUILDS)
def test_captions_count_from_the_first_frame(build: str, tmp_path: Path) -> None:
    words = tmp_path / "words.srt"
    words.write_text("1\n00:00:01,500 --> 00:00:02,250\nHello <i>there</i>\n")
    source = tmp_path / "source.mkv"
    ffmpeg(
        build, "-itsoffset", "0.5", "-f", "lavfi", "-i", "testsrc2=size=160x90:rate=30:duration=3", "-i", str(words),
        "-map", "0:v", "-map", "1:s", *X264.split(), "-c:s", "subrip", str(source),
    )  # fmt: skip
    facts = replace(facts_of(build, source, Fraction(30)), subtitles=(replace(WORDS, index=1),))
    plan = settle_plan(make_plan(facts, LOSSLESS), facts)
    run_checked(commands.captions(builds()[build], plan, plan.captions[0], str(source), str(tmp_path / "out.vtt")))
    text = (tmp_path / "out.vtt").read_text()
    assert text.startswith("WEBVTT")
    assert "00:01.000 --> 00:01.750\nHello <i>there</i>" in text


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("key_frames_only", [False, True])
@pytest.mark.parametrize("damaged", [0, 1, 2])
def test_a_check_passes_what_is_whole_and_finds_what_is_damaged(
    damaged: int, key_frames_only: bool, build: str, tmp_path: Path
) -> None:
    plan, source = a_plan(build, tmp_path)
    plan = replace(plan, grid=replace(plan.grid, chunk_frames=FRAMES))
    made = [tmp_path / f"made-{number}.mp4" for number in range(3)]
    for path in made:
        run_checked(
            commands.encode_chunk(builds()[build], plan, plan.grid.chunks()[0], str(source), {"90p": str(path)})
        )
    files = {str(path): FRAMES for path in made}
    check = commands.decode_check(builds()[build], files, key_frames_only=key_frames_only)
    run_checked(check)
    data = bytearray(made[damaged].read_bytes())
    start = data.index(b"mdat", data.index(b"mdat") + 4) + 60
    data[start : start + 4000] = bytes(byte ^ 0x5A for byte in data[start : start + 4000])
    made[damaged].write_bytes(data)
    assert run(check).returncode != 0


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("how", SCORES)
def test_a_comparison_scores_what_was_made_of_the_same_frames(how: str, build: str, tmp_path: Path) -> None:
    if how == "vmaf" and b" libvmaf " not in ffmpeg(build, "-filters"):
        pytest.skip("NOT TESTED: this ffmpeg has no libvmaf")
    plan, source = a_plan(build, tmp_path)
    chunk, rung, made = plan.grid.chunks()[1], plan.rungs[0], tmp_path / "made.mp4"
    run_checked(commands.encode_chunk(builds()[build], plan, chunk, str(source), {"90p": str(made)}))
    run_checked(commands.compare(builds()[build], plan, chunk, rung, str(source), str(made), how), tmp_path)
    text = (tmp_path / SCORES[how]).read_text()
    scores = [
        float(score) for score in re.findall(r"All:([\d.]+)|\"vmaf\": ([\d.]+)", text) for score in score if score
    ]
    assert len(scores) == chunk.frames
    assert min(scores) > 0.99 if how == "ssim" else min(scores) > 90


HOSTILE = {
    "playlist": "#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\n{secret}\n#EXT-X-ENDLIST\n",
    "list of files": "ffconcat version 1.0\nfile {secret}\n",
    "session": "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=video 5004 RTP/AVP 96\n",
    "manifest": '<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011"><Period/></MPD>',
    "text": "hello",
    "nothing": "",
}


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("kind", HOSTILE)
def test_a_file_that_names_others_is_not_followed(kind: str, build: str, tmp_path: Path) -> None:
    secret = make_clip(build, tmp_path / "secret.mkv", X264)
    hostile, target = tmp_path / "movie.mp4", tmp_path / "out.mp4"
    hostile.write_text(HOSTILE[kind].format(secret=secret.name))
    plan = make_plan(FACTS, load_profile("h264"))
    finished = run(
        commands.encode_chunk(builds()[build], plan, plan.grid.chunks()[0], str(hostile), {"240p": str(target)})
    )
    assert finished.returncode not in (0, -11)
    assert not target.exists() or target.stat().st_size == 0


@pytest.mark.parametrize("build", BUILDS)
def test_a_file_named_like_an_option_or_an_address_is_a_file(build: str, tmp_path: Path) -> None:
    for name in ("-i", "http:x", "concat:a|b", "50%d.mp4"):
        make_clip(build, tmp_path / "plain.mp4", X264).rename(tmp_path / name)
        run_checked(commands.decode_check(builds()[build], {name: FRAMES}), tmp_path)


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("number", [0, 1])
def test_a_chunk_is_cmaf_with_a_key_frame_at_every_group_of_pictures(number: int, build: str, tmp_path: Path) -> None:
    source = make_clip(build, tmp_path / "source.mp4", X264)
    facts = facts_of(build, source)
    plan = settle_plan(make_plan(facts, replace(LOSSLESS, gop_seconds=0.5)), facts)
    assert (plan.grid.segment_frames, plan.grid.gop_frames) == (28, 14)
    made = tmp_path / "made.mp4"
    run_checked(
        commands.encode_chunk(builds()[build], plan, plan.grid.chunks()[number], str(source), {"90p": str(made)})
    )
    parsed = parse_mp4(made)
    assert [(fragment.samples, fragment.starts_with_sync) for fragment in parsed.segments] == [(14, True)] * 2
    assert b"cmfc" in parsed.init[: parsed.init.index(b"moov")], "its brand"
    first = parsed.segments[0]
    assert (first.composition, parsed.track.media_time) == (0, 0), "the first frame is shown when it is decoded"
    assert len(parsed.with_counts(plan.grid.chunks()[number].segments).segments) == 1


@pytest.mark.parametrize("build", BUILDS)
def test_sound_is_cmaf_and_its_priming_is_edited_out(build: str, tmp_path: Path) -> None:
    source = make_clip(build, tmp_path / "source.mp4", f"{X264} -c:a aac", inputs=("-f", "lavfi", "-i", "sine"))
    facts = replace(facts_of(build, source), audio=(sound_facts(),))
    plan = settle_plan(make_plan(facts, LOSSLESS), facts)
    made = tmp_path / "made.mp4"
    run_checked(commands.encode_audio(builds()[build], plan, plan.audio[0], str(source), str(made)))
    parsed = parse_mp4(made)
    assert b"cmfc" in parsed.init[: parsed.init.index(b"moov")]
    assert parsed.track.media_time == 1024
