"""Videos through the whole pipeline: the streams, the reports, and the refused sources."""

import asyncio
import contextlib
import ctypes
import json
import os
import re
import shlex
import shutil
import struct
import subprocess
import sys
import zlib
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from math import floor
from pathlib import Path
from typing import Any

import pytest

from reelstate.app import built_in_pipelines
from reelstate.core.machine import PHASES, JobStatus, TaskStatus
from reelstate.library.ladder import read_qualities
from reelstate.library.videos import Videos
from reelstate.media.formats import hls, hls_parser, webvtt
from reelstate.media.formats.fragmented_mp4 import parse_mp4
from reelstate.media.planning.plan import Plan
from reelstate.media.planning.quality import QualityStatus
from reelstate.media.results import RESULTS
from reelstate.media.sandbox import sandbox
from reelstate.media.stages import renditions
from tests.library.local_library import working
from tests.media.clips import ffmpeg, frames_of, rotate_mp4
from tests.media.deployment import Deployment, Stream, start_deployment
from tests.media.processes import WHEEL
from tests.media.source_videos import (
    BUILD,
    RATE,
    SOUND,
    TIMEOUT,
    X264,
    ffmpeg_failing_at,
    make_video,
    profile,
    wrap_ffmpeg,
)
from tests.media.streams import builds, has_encoder

ONE_RUNG = profile(rungs=profile()["rungs"][1:])
IN_OPEN = 0x20


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a video of two seconds with sound."""
    return make_video(tmp_path_factory.mktemp("sources") / "good.mp4")


def reel(deployment: Deployment, *arguments: str) -> str:
    """Run a command against this deployment and return its output."""
    environment = {**os.environ, "REEL_DATABASE_URL": deployment.settings.database_url}
    command = [sys.executable, "-m", "reelstate", *arguments]
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


@pytest.mark.parametrize("build", sorted(builds()))
async def test_a_video_becomes_a_stream_of_exactly_its_frames_and_every_step_is_reported(
    tmp_path: Path, build: str
) -> None:
    source = make_video(tmp_path / "source.mp4", 4)
    async with start_deployment(tmp_path, ffmpeg=builds()[build]) as here:
        stream = await here.stream(source, profile=profile(thumbnails=True, sprites=True))
        job = stream.detail.job
        phases = [
            JobStatus(event.target)
            for event in (await here.engine.history(job.id, limit=1000)).items
            if event.entity == "job" and event.target
        ]
        assert phases == [JobStatus.PENDING, *PHASES, JobStatus.COMPLETED]
        assert (stream.frames, len(stream.detail.plan["fetch"]["chunks"])) == (4 * RATE, 4)
        played = stream.decode_rungs(build)
        assert {rung: len(frames) for rung, frames in played.items()} == {"180p": 100, "90p": 100}
        assert all(len(set(frames)) == len(frames) for frames in played.values())
        assert 0 <= stream.samples() - 4 * 48000 < 2 * 1024
        assert stream.outputs["rungs"] == ["180p", "90p"]
        assert (stream.outputs["degraded"], job.degraded, job.error) == ([], None, None)
        assert stream.path(stream.outputs["poster"]).read_bytes().startswith(b"\xff\xd8")
        await require_full_report(here, job.id)
    assert list((tmp_path / "scratch").iterdir()) == []


async def require_full_report(here: Deployment, job_id: int) -> None:
    tasks = await here.tasks(job_id)
    assert {(task.status, task.attempt) for task in tasks} <= {(TaskStatus.DONE, 1), (TaskStatus.SKIPPED, 0)}
    steps = await here.steps(job_id)
    names = [stage.name for stage in (await here.engine.job(job_id)).stages]
    made = sorted((names[step.stage], step.part) for step in steps)
    encodes = [("encode", part) for part in range(4)]
    assert made == [("audio", 0), *encodes, ("thumbnails", 0), ("thumbnails", 0), ("verify", 0)]
    assert {step.exit_code for step in steps} == {0}
    assert all(step.argv[0] == here.settings.ffmpeg and step.seconds > 0 for step in steps)
    document = json.loads(reel(here, "job", str(job_id), "--json"))
    assert (document["status"], document["progress"]) == ("completed", 100.0)
    assert [stage["name"] for stage in document["stages"]] == list(RESULTS)
    assert document["outputs"]["publish"]["rungs"] == ["180p", "90p"]


async def test_a_required_rung_that_fails_fails_the_job_with_the_evidence(tmp_path: Path, good: Path) -> None:
    wrapped = ffmpeg_failing_at(tmp_path / "ffmpeg", "90p")
    async with start_deployment(tmp_path, ffmpeg=str(wrapped), sandbox="off") as here:
        detail = await here.transcode(good, profile=profile(chunk_seconds=2))
        assert detail.job.status is JobStatus.FAILED
        assert detail.job.error["stage"] == "encode"
        assert "90p: ffmpeg failed with exit code 1" in detail.job.error["cause"]["message"]
        assert "no 90p today" in detail.job.error["cause"]["message"]
        (task,) = await here.tasks(detail.job.id, "encode")
        assert (task.status, task.attempt) == (TaskStatus.ERROR, 3)
        failed = json.loads(reel(here, "steps", str(detail.job.id), "--stage", "encode", "--failed", "--json"))
        assert [(step["token"], step["number"], step["exit_code"]) for step in failed] == [
            (token, number, 1) for token in (1, 2, 3) for number in (1, 3)
        ]
        assert all(step["output"] == "[error] no 90p today\n" for step in failed)
        assert all(step["argv"][-1].endswith("/90p") for step in failed)
        together, alone = failed[0]["argv"], failed[1]["argv"]
        assert [argv.count("libx264") for argv in (together, alone)] == [2, 1]
        assert "encoding each rung alone" in reel(here, "logs", str(detail.job.id))
        shown = {each.quality: each.status for each in await read_qualities(here.engine, detail)}
        assert shown == {"90p": QualityStatus.FAILED, "180p": QualityStatus.PENDING}


async def test_an_optional_rung_that_fails_is_left_out_and_the_rest_plays(tmp_path: Path, good: Path) -> None:
    wrapped = ffmpeg_failing_at(tmp_path / "ffmpeg", "90p")
    async with start_deployment(tmp_path, ffmpeg=str(wrapped), sandbox="off") as here:
        stream = await here.stream(good, profile=profile(optional=["90p"]))
        (missing,) = stream.detail.job.degraded
        assert [missing] == stream.outputs["degraded"]
        assert re.match(r"90p: .*no 90p today", missing)
        tasks = [task for stage in stream.detail.stages for task in await here.tasks(stream.detail.job.id, stage.name)]
        assert [task.stage_name for task in tasks if task.step is None and task.status is TaskStatus.DONE] == []
        assert "90p" not in stream.master.read_text()
        assert not [key for key in stream.manifest["files"] if "90p" in key]
        assert {rung: len(frames) for rung, frames in stream.decode_rungs().items()} == {"180p": 50}
        messages = [line.message for line in await here.logs(stream.detail.job.id)]
        assert [message for message in messages if message.startswith("90p of chunk 1 failed")]


LACKING = next(name for name, path in builds().items() if path == WHEEL)


def with_av1(*, required: bool) -> Any:
    """A rung of H.264, and one of AV1, for which the ffmpeg of the wheel has no encoder."""
    plain, small = profile()["rungs"]
    return profile(rungs=[plain, {**small, "name": "av1-90p", "codec": "av1", "preset": "12", "required": required}])


@pytest.mark.skipif(has_encoder(LACKING, "libsvtav1"), reason="the ffmpeg of the wheel has the encoder")
async def test_optional_rungs_without_an_encoder_are_left_out_and_the_rest_plays(tmp_path: Path, good: Path) -> None:
    async with start_deployment(tmp_path, ffmpeg=WHEEL, wants_grace=0.1, sweep_every=0.1) as here:
        stream = await here.stream(good, profile=with_av1(required=False))
        assert stream.detail.job.degraded == ["av1-90p: no worker has libsvtav1"] == stream.outputs["degraded"]
        assert {rung: len(frames) for rung, frames in stream.decode_rungs().items()} == {"180p": 50}
        tasks = await here.tasks(stream.detail.job.id, "encode")
        assert {task.attempt for task in tasks} == {1}
        assert {task.result["failed"]["av1-90p"] for task in tasks} == {"no worker has libsvtav1"}


@pytest.mark.skipif(has_encoder(LACKING, "libsvtav1"), reason="the ffmpeg of the wheel has the encoder")
async def test_a_chunk_waits_for_a_worker_that_has_its_encoder(tmp_path: Path, good: Path) -> None:
    async with start_deployment(tmp_path, ffmpeg=WHEEL, wants_grace=0.1, sweep_every=0.1) as here:
        job_id = await here.submit(good, profile=with_av1(required=True))
        async with asyncio.timeout(TIMEOUT):
            async for each in here.engine.watch(job_id):
                if any(stage.waits_for for stage in (await here.engine.job(job_id)).stages):
                    break
                assert each is not None
        (stage,) = (stage for stage in (await here.engine.job(job_id)).stages if stage.waits_for)
        assert (stage.name, stage.waits_for) == ("encode", ("encoder:libsvtav1", "encoder:libx264", "ffmpeg"))
        assert "stage encode needs encoder:libsvtav1" in reel(here, "job", str(job_id))
        assert {task.attempt for task in await here.tasks(job_id, "encode")} == {0}
        capable = await here.engine.register(
            "capable", hostname="host", software="test", capabilities=stage.waits_for, pipelines=["transcode"]
        )
        assert {task.stage_name for task in (await here.engine.claim(capable, 10)).tasks} == {"encode"}


def with_hevc(*, required: bool) -> Any:
    plain, small = profile()["rungs"]
    return profile(rungs=[plain, {**small, "name": "hevc-90p", "codec": "hevc", "required": required}])


def without(path: Path, encoder: str) -> Path:
    """Wrap ffmpeg as a build without an encoder: it does not list the encoder and fails to use it."""
    real = shlex.quote(builds()[BUILD])
    return wrap_ffmpeg(
        path,
        f"""case " $* " in
*" -encoders "*) {real} "$@" | grep -v {encoder}; exit 0;;
*" {encoder} "*) echo "[error] Unknown encoder '{encoder}'" >&2; exit 1;;
esac""",
    )


async def test_a_required_rung_is_made_when_a_worker_comes_that_can(tmp_path: Path, good: Path) -> None:
    lacking = str(without(tmp_path / "ffmpeg", "libx265"))
    async with start_deployment(tmp_path, ffmpeg=lacking, sandbox="off", wants_grace=0.1, sweep_every=0.1) as here:
        job_id = await here.submit(good, profile=with_hevc(required=True))
        async with asyncio.timeout(TIMEOUT):
            async for _ in here.engine.watch(job_id):
                if any(stage.waits_for for stage in (await here.engine.job(job_id)).stages):
                    break
        (waiting,) = (stage for stage in (await here.engine.job(job_id)).stages if stage.waits_for)
        assert waiting.name == "encode"
        assert "encoder:libx265" in waiting.waits_for
        capable = replace(here.settings, ffmpeg=builds()[BUILD])
        async with working(here.engine, built_in_pipelines(capable), capable):
            detail = await here.engine.wait(job_id, timeout=TIMEOUT)
        assert (detail.job.status, detail.job.degraded) == (JobStatus.COMPLETED, None), detail.job.error
        assert Stream(here.storage, detail).outputs["rungs"] == ["180p", "hevc-90p"]
        assert {task.attempt for task in await here.tasks(job_id, "encode")} == {1}


async def test_an_encoder_that_an_operator_excludes_is_not_used(tmp_path: Path, good: Path) -> None:
    """The ffmpeg of the worker has it, and the rung is optional."""
    async with start_deployment(
        tmp_path, worker_capabilities="-encoder:libx265", wants_grace=0.1, sweep_every=0.1
    ) as here:
        stream = await here.stream(good, profile=with_hevc(required=False))
        assert stream.outputs["degraded"] == ["hevc-90p: no worker has libx265"]
        assert stream.outputs["rungs"] == ["180p"]


@contextlib.contextmanager
def unopened(path: Path) -> Iterator[None]:
    """Require that no process opens a file meanwhile."""
    library = ctypes.CDLL(None, use_errno=True)
    watch = library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        assert library.inotify_add_watch(watch, os.fsencode(path), IN_OPEN) > 0
        yield
        with pytest.raises(BlockingIOError):
            os.read(watch, 4096)
        path.read_bytes()
        assert os.read(watch, 4096), "an open would have been seen"
    finally:
        os.close(watch)


def giant_picture() -> bytes:
    """A picture of 16,000 × 16,000 pixels in a few kilobytes."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 16000, 16000, 1, 0, 0, 0, 0)
    pixels = zlib.compress(bytes(16000 * 2001), 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def hostile_files(folder: Path, good: Path, canary: Path) -> dict[str, tuple[str, str]]:
    """Create files that must be refused; return the refusing stage and a part of its message by name."""
    lists = {
        "playlist": f"#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\n{canary}\n#EXT-X-ENDLIST\n",
        "concat": f"ffconcat version 1.0\nfile '{canary}'\n",
        "concat-beside": f"ffconcat version 1.0\nfile '{canary.name}'\n",
        "dash": '<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static"><Period><AdaptationSet>'
        f'<Representation id="1"><BaseURL>{canary}</BaseURL></Representation></AdaptationSet></Period></MPD>',
        "sdp": "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=video 5004 RTP/AVP 96\n",
        "text": "Dear diary, today nothing happened.\n" * 300,
    }
    for name, text in lists.items():
        (folder / f"{name}.mp4").write_text(text)
    (folder / "giant.mp4").write_bytes(giant_picture())
    (folder / "empty.mp4").write_bytes(b"")
    (folder / "truncated.mp4").write_bytes(good.read_bytes()[:9000])
    far = ("-f", "lavfi", "-i", "color=s=64x64:r=1", "-vf", "setpts=N*36000/TB", "-fps_mode", "vfr", "-frames:v", "2")
    ffmpeg(BUILD, *far, "-c:v", "libx264", "-f", "matroska", str(folder / "far.mp4"))
    return {
        "playlist": ("probe", "a list of other files"),
        "dash": ("probe", "a list of other files"),
        "concat": ("probe", "its format, concat, is not allowed"),
        "concat-beside": ("probe", "its format, concat, is not allowed"),
        "sdp": ("probe", "its format, sdp, is not allowed"),
        "giant": ("probe", "its format, png_pipe, is not allowed"),
        "text": ("probe", "not a video"),
        "empty": ("probe", "it is empty"),
        "truncated": ("probe", "truncated"),
        "far": ("plan", "frames"),
        "missing": ("validate", "there is no file"),
    }


async def test_hostile_files_are_refused_and_the_worker_takes_the_next_video(tmp_path: Path, good: Path) -> None:
    folder = tmp_path / "sources"
    folder.mkdir()
    canary = folder / "canary.mp4"
    shutil.copy(good, canary)
    expected = hostile_files(folder, good, canary)
    async with start_deployment(tmp_path) as here:
        with unopened(canary):
            found = {name: await here.transcode(folder / f"{name}.mp4", profile=ONE_RUNG) for name in expected}
        for name, (stage, text) in expected.items():
            job = found[name].job
            assert (name, job.status, job.error["stage"]) == (name, JobStatus.FAILED, stage)
            assert text in job.error["cause"]["message"], name
            assert [task.token for task in await here.tasks(job.id, stage)] == [1], "tried once"
        assert not (here.storage / "sources").exists()
        odd = shutil.copy(good, folder / "-i")
        stream = await here.stream(odd, profile=ONE_RUNG)
        assert len(stream.decode_rungs()["90p"]) == 2 * RATE
        assert len(await here.engine.workers()) == 1


@pytest.mark.parametrize(
    "source", ["sources/../secret.mp4", "sources/link.mp4", "secret.mp4", "sources/../sources/../secret.mp4"]
)
async def test_no_address_leads_out_of_the_folders_that_sources_are_taken_from(
    tmp_path: Path, good: Path, source: str
) -> None:
    (tmp_path / "sources").mkdir()
    shutil.copy(good, tmp_path / "secret.mp4")
    (tmp_path / "sources" / "link.mp4").symlink_to(tmp_path / "secret.mp4")
    async with start_deployment(tmp_path, input_roots=str(tmp_path / "sources")) as here:
        job = (await here.transcode(tmp_path / source)).job
        assert (job.status, job.error["stage"]) == (JobStatus.FAILED, "validate")
        assert "is outside the folders" in job.error["cause"]["message"]


async def test_text_that_is_made_to_hold_up_a_worker_does_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A markup that makes a careless pattern run forever, and a very long text."""
    monkeypatch.setattr(webvtt, "MAX_BYTES", 100_000)
    mark = "<c" + 200 * ".a"
    (tmp_path / "mark.srt").write_text(f"1\n00:00:00,500 --> 00:00:01,000\n{mark}\n")
    cues = (f"{number}\n00:00:00,{number:03} --> 00:00:01,000\n{200 * 'long '}\n" for number in range(1, 200))
    (tmp_path / "long.srt").write_text("\n".join(cues))
    ffmpeg(
        BUILD, "-f", "lavfi", "-i", "testsrc2=size=160x90:rate=25",
        *("-i", str(tmp_path / "mark.srt"), "-i", str(tmp_path / "long.srt")),
        *("-map", "0", "-map", "1", "-map", "2", "-t", "2", *X264.split(), "-c:s", "srt", str(tmp_path / "source.mkv")),
    )  # fmt: skip
    async with start_deployment(tmp_path) as here:
        stream = await here.stream(tmp_path / "source.mkv", profile=ONE_RUNG)
        (kept,) = stream.manifest["captions"]
        assert mark.replace("<", "&lt;") in stream.path(kept["file"]).read_text()
        _, refused = await here.tasks(stream.detail.job.id, "captions")
        assert (refused.status, refused.attempt) == (TaskStatus.ERROR, 1)
        assert "the text is longer than 100,000 bytes" in refused.error["message"]
        (missing,) = stream.detail.job.degraded
        assert missing.startswith("captions: 1 failed, part 1: ")
        assert "the text is longer than 100,000 bytes" in missing


async def test_one_giant_cue_fails_its_captions_at_once_and_the_other_streams_play(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time that ffmpeg takes for it grows with the square of its length."""
    monkeypatch.setattr(renditions, "CAPTIONS_CPU_SECONDS", 1)
    lines = "\n".join(["word " * 10] * 60_000)
    (tmp_path / "giant.srt").write_text(f"1\n00:00:00,500 --> 00:00:01,000\n{lines}\n")
    ffmpeg(
        BUILD, "-f", "lavfi", "-i", "testsrc2=size=160x90:rate=25", "-i", str(tmp_path / "giant.srt"),
        *("-map", "0", "-map", "1", "-t", "1", *X264.split(), "-c:s", "copy", str(tmp_path / "source.mkv")),
    )  # fmt: skip
    async with start_deployment(tmp_path) as here:
        stream = await here.stream(tmp_path / "source.mkv", profile=ONE_RUNG)
        (refused,) = await here.tasks(stream.detail.job.id, "captions")
        assert (refused.status, refused.attempt) == (TaskStatus.ERROR, 1)
        (reason,) = stream.detail.job.degraded
        assert "is one cue very long?" in reason


async def test_cues_that_are_left_out_are_counted_in_degraded_and_drawings_are_no_text(tmp_path: Path) -> None:
    header = (
        "[Script Info]\n[Events]\nFormat: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text\n"
    )
    texts = ("{\\p1}m 0 0 l 100 0 100 100 0 100{\\p0}", "a --> b", "one\\N\\Ntwo", "x" * 5000)
    events = "".join(
        f"Dialogue: 0,0:00:00.{number}0,0:00:00.90,Default,,0,0,0,,{text}\n" for number, text in enumerate(texts)
    )
    (tmp_path / "text.ass").write_text(header + events)
    ffmpeg(
        BUILD, "-f", "lavfi", "-i", "testsrc2=size=160x90:rate=25", "-i", str(tmp_path / "text.ass"),
        *("-map", "0", "-map", "1", "-t", "1", *X264.split(), "-c:s", "ass", str(tmp_path / "source.mkv")),
    )  # fmt: skip
    async with start_deployment(tmp_path) as here:
        stream = await here.stream(tmp_path / "source.mkv", profile=ONE_RUNG)
        (kept,) = stream.manifest["captions"]
        text = stream.path(kept["file"]).read_text()
        assert [block.split("\n")[1:] for block in text.strip().split("\n\n")[1:]] == [["a --&gt; b"], ["one", "two"]]
        (reason,) = stream.detail.job.degraded
        assert reason.startswith("captions 0: 2 of 4 cues are left out: ")


@pytest.mark.parametrize(
    "name, options",
    [
        ("alpha.webm", "-vf format=yuva420p -c:v libvpx -auto-alt-ref 0 -b:v 500k"),
        ("alpha.mov", "-vf format=yuva444p10le -c:v prores_ks -profile:v 4"),
        ("late.mkv", f"{X264} -output_ts_offset 36000.0137"),
        ("early.mp4", f"{X264} -bf 0 -g 250 -output_ts_offset -1.0037 -avoid_negative_ts disabled"),
    ],
)
async def test_alpha_and_odd_times_get_thumbnails(tmp_path: Path, name: str, options: str) -> None:
    source = make_video(tmp_path / name, options=options, sound=False)
    async with start_deployment(tmp_path) as here:
        stream = await here.stream(source, profile={**ONE_RUNG, "thumbnails": True, "sprites": True})
        assert stream.detail.job.degraded is None
        (made,) = await here.tasks(stream.detail.job.id, "thumbnails")
        assert (made.status, made.attempt) == (TaskStatus.DONE, 1)
        keys = [made.result["poster"]["key"], *(sheet["key"] for sheet in made.result["sprites"]["sheets"])]
        assert all(stream.path(key).read_bytes().startswith(b"\xff\xd8") for key in keys)


async def test_a_loud_downmix_does_not_clip(tmp_path: Path) -> None:
    loud = "aevalsrc=exprs=" + "|".join(["0.95*sin(440*2*PI*t)"] * 6) + ":channel_layout=5.1:sample_rate=48000"
    source = tmp_path / "loud.mkv"
    ffmpeg(BUILD, "-f", "lavfi", "-i", "testsrc2=size=160x90:rate=25", "-f", "lavfi", "-i", loud, *X264.split(),
           "-c:a", "flac", "-t", "2", str(source))  # fmt: skip
    async with start_deployment(tmp_path) as here:
        stream = await here.stream(source, profile=ONE_RUNG)
        playlist = stream.path(stream.manifest["audio"][0]["playlist"])
        samples = memoryview(ffmpeg(BUILD, "-i", str(playlist), "-f", "f32le", "-")).cast("f")
        assert 0.5 < max(map(abs, samples)) <= 1.0
        assert 0 <= stream.samples() - 2 * 48000 < 2 * 1024


async def test_no_name_or_title_leads_out_of_the_storage(tmp_path: Path) -> None:
    """Names reach playlists alone, and there they are quoted; files are called by numbers."""
    evil = '../../../evil",URI="evil.m3u8\n#EXT-X-EVIL'
    (tmp_path / "sub.srt").write_text("1\n00:00:00,000 --> 00:00:01,000\nhello\n")
    ffmpeg(
        BUILD, "-f", "lavfi", "-i", "testsrc2=size=160x90:rate=25", *SOUND, "-i", str(tmp_path / "sub.srt"),
        *("-map", "0", "-map", "1", "-map", "2", "-t", "1", *X264.split(), "-c:a", "aac", "-c:s", "srt"),
        *("-metadata", f"title={evil}", "-metadata:s:a:0", f"title={evil}", "-metadata:s:s:0", f"title={evil}"),
        str(tmp_path / "source.mkv"),
    )  # fmt: skip
    before = files_in(tmp_path)
    async with start_deployment(tmp_path) as here:
        spec = {"profile": ONE_RUNG}
        submitted = await Videos(here.engine).submit(str(tmp_path / "source.mkv"), title="../../../evil", spec=spec)
        detail = await here.engine.wait(submitted.job_id, timeout=300)
        assert detail.job.status is JobStatus.COMPLETED, detail.job.error
        stream = Stream(here.storage, detail)
        master = hls_parser.parse_master_playlist(stream.master.read_text())
        assert "#EXT-X-EVIL" not in stream.master.read_text().splitlines()
        assert all(
            stream.path(hls.resolve_uri(stream.outputs["master"], each["URI"])).is_file() for each in master.variants
        )
        refused = await here.transcode(tmp_path / "source.mkv", profile={**ONE_RUNG, "name": "../evil"})
        assert (refused.job.status, refused.job.error["stage"]) == (JobStatus.FAILED, "validate")
    made = files_in(tmp_path) - before
    assert {path.parts[0] for path in made if not path.name.startswith("reel.db")} == {"media"}
    assert not [path for path in made if "evil" in str(path)]


def files_in(folder: Path) -> set[Path]:
    return {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()}


def make_difficult_video(kind: str, folder: Path) -> Path:
    path = folder / "source.mkv"
    match kind:
        case "MPEG-TS":
            return make_video(folder / "source.ts")
        case "Matroska":
            return make_video(path)
        case "uneven frames":
            return make_video(path, options=f"-vf settb=1/90000,setpts='PTS+random(2)*0.03/TB' -fps_mode vfr {X264}")
        case "turned":
            return rotate_mp4(make_video(folder / "source.mp4"))
        case "ten bits":
            return make_video(path, options=X264.replace("yuv420p", "yuv420p10le"))
        case "silent":
            return make_video(path, sound=False)
        case "odd size":
            return make_video(path, size="321x181", options=X264.replace("yuv420p", "yuv444p"))
        case "interlaced":
            return make_video(path, options=f"-vf setfield=tff {X264} -flags +ildct+ilme")
        case _:
            raise AssertionError(kind)


@pytest.mark.parametrize(
    "kind, size",
    [
        ("MPEG-TS", (160, 90)),
        ("Matroska", (160, 90)),
        ("uneven frames", (160, 90)),
        ("turned", (90, 160)),
        ("ten bits", (160, 90)),
        ("silent", (160, 90)),
        ("odd size", (160, 90)),
        ("interlaced", (160, 90)),
    ],
)
async def test_a_source_that_needs_conversion_is_streamed(tmp_path: Path, kind: str, size: tuple[int, int]) -> None:
    source = make_difficult_video(kind, tmp_path)
    async with start_deployment(tmp_path) as here:
        stream = await here.stream(source, profile=ONE_RUNG)
        (rung,) = stream.manifest["rungs"]
        track = parse_mp4(stream.path(rung["init"]).read_bytes()).track
        assert (track.width, track.height) == size
        assert track.codec.startswith("avc1.42"), "8 bits, as every browser takes it"
        assert len(stream.manifest["audio"]) == (0 if kind == "silent" else 1)
        assert ("TYPE=AUDIO" in stream.master.read_text()) == (kind != "silent")
        assert len(stream.decode_rungs()["90p"]) == stream.frames
        rate = Fraction(stream.detail.plan["fetch"]["plan"]["grid"]["rate"])
        assert abs(stream.frames - 2 * rate) <= (5 if kind == "uneven frames" else 0)
        commands = [step.argv for step in await here.steps(stream.detail.job.id)]
        assert any("copy" in argv for argv in commands) == (kind == "MPEG-TS")
        assert any("bwdif" in word for argv in commands for word in argv) == (kind == "interlaced")


async def test_every_frame_of_an_uneven_video_is_shown(tmp_path: Path) -> None:
    uneven = f"-vf settb=1/90000,setpts='PTS+random(2)*0.02/TB',select='mod(n,7)' -fps_mode vfr {X264}"
    source = make_video(tmp_path / "phone.mp4", 4, options=uneven)
    async with start_deployment(tmp_path) as here:
        stream = await here.stream(source, profile=ONE_RUNG)
        grid = Plan.from_json(stream.detail.plan["fetch"]["plan"]).grid
        times = [frame.time for frame in frames_of(BUILD, source)]
        frames = {floor((time - grid.origin) * grid.rate + Fraction(1, 2)) for time in times}
        assert (len(frames), max(frames) < stream.frames) == (len(times), True)
        assert len(stream.decode_rungs()["90p"]) == stream.frames
        assert stream.detail.job.degraded is None


async def test_two_joined_transport_streams_keep_their_rate_and_all_their_frames(tmp_path: Path) -> None:
    parts = [make_video(tmp_path / f"{seconds}.ts", seconds) for seconds in (2, 3)]
    joined = tmp_path / "joined.ts"
    joined.write_bytes(b"".join(part.read_bytes() for part in parts))
    async with start_deployment(tmp_path) as here:
        stream = await here.stream(joined, profile=ONE_RUNG)
        grid = stream.detail.plan["fetch"]["plan"]["grid"]
        assert grid["rate"] == str(RATE)
        assert abs(len(stream.decode_rungs()["90p"]) - 5 * RATE) <= 2
        assert stream.detail.job.degraded is None


async def test_a_disk_that_was_full_for_a_moment_does_not_have_a_video_encoded_in_one_piece(tmp_path: Path) -> None:
    once = f'if mkdir {tmp_path}/full 2>/dev/null; then echo "[error] No space left on device" >&2; exit 1; fi'
    full = wrap_ffmpeg(tmp_path / "ffmpeg", f'case " $* " in *" -c copy "*) {once};; esac')
    async with start_deployment(tmp_path, ffmpeg=str(full), sandbox="off") as here:
        stream = await here.stream(make_video(tmp_path / "source.ts"), profile=ONE_RUNG)
        (fetch,) = await here.tasks(stream.detail.job.id, "fetch")
        assert (fetch.attempt, len(stream.detail.plan["fetch"]["chunks"])) == (2, 2)


async def test_every_sound_track_and_text_is_kept_and_a_cover_is_no_picture(tmp_path: Path) -> None:
    for name, words in (("en", "hello"), ("de", "hallo")):
        (tmp_path / f"{name}.srt").write_text(f"1\n00:00:00,500 --> 00:00:01,000\n{words}\n")
    ffmpeg(BUILD, "-f", "lavfi", "-i", "color=red:s=640x640", "-frames:v", "1", str(tmp_path / "cover.jpg"))
    ffmpeg(
        BUILD, "-f", "lavfi", "-i", "testsrc2=size=160x90:rate=25", *SOUND, *SOUND,
        *("-i", str(tmp_path / "en.srt"), "-i", str(tmp_path / "de.srt")),
        *(word for number in range(5) for word in ("-map", str(number))),
        *("-t", "2", *X264.split(), "-c:a", "aac", "-c:s", "srt"),
        *("-metadata:s:a:0", "language=eng", "-metadata:s:a:1", "language=deu"),
        *("-metadata:s:s:0", "language=eng", "-metadata:s:s:1", "language=deu"),
        *("-attach", str(tmp_path / "cover.jpg"), "-metadata:s:t", "mimetype=image/jpeg", str(tmp_path / "source.mkv")),
    )  # fmt: skip
    async with start_deployment(tmp_path) as here:
        stream = await here.stream(tmp_path / "source.mkv", profile=ONE_RUNG)
        master = hls_parser.parse_master_playlist(stream.master.read_text())
        assert [(each["TYPE"], each["LANGUAGE"]) for each in master.media] == [
            ("AUDIO", "en"),
            ("AUDIO", "de"),
            ("SUBTITLES", "en"),
            ("SUBTITLES", "de"),
        ]
        texts = [stream.path(each["file"]).read_text() for each in stream.manifest["captions"]]
        assert [text.split("-->")[1].split()[1:] for text in texts] == [["hello"], ["hallo"]]
        assert len(stream.decode_rungs()["90p"]) == stream.frames == 2 * RATE


@pytest.mark.skipif(bool(sandbox._try_landlock(Path("/bin/sh"))), reason="Landlock does not work here")
async def test_a_video_is_made_behind_landlock_where_there_is_no_bubblewrap(
    tmp_path: Path, good: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox, "_bubblewrap", lambda: None)
    sandbox._isolation.cache_clear()
    try:
        async with start_deployment(tmp_path, sandbox="require") as here:
            stream = await here.stream(good, profile=profile(thumbnails=True, sprites=True))
            assert {rung: len(frames) for rung, frames in stream.decode_rungs().items()} == {"180p": 50, "90p": 50}
            owners = {path.stat().st_uid for path in here.storage.rglob("*")}
            assert owners == {os.geteuid()}
    finally:
        sandbox._isolation.cache_clear()


async def test_every_key_frame_is_decoded_before_a_version_is_published(tmp_path: Path, good: Path) -> None:
    """A segment has several of them."""
    wanted = profile(segment_seconds=2, gop_seconds=0.5, chunk_seconds=2, rungs=profile()["rungs"][1:])
    async with start_deployment(tmp_path) as here:
        stream = await here.stream(good, profile=wanted)
        (step,) = (step for step in await here.steps(stream.detail.job.id) if step.stage == stream.stage("verify"))
        (chunk,) = stream.manifest["rungs"][0]["chunks"]
        key_frames = len(parse_mp4(stream.path(chunk["key"])).segments)
        assert (len(chunk["segments"]), key_frames) == (1, 5), "of 10 frames each: a part of 50 that is at most 12"
        assert int(step.argv[step.argv.index("-frames:v") + 1]) >= key_frames
