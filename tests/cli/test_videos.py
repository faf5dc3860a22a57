"""`reel videos` and `reel ingest`."""

import json
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest

from reelstate.api.server import listen, url_of
from reelstate.cli.serving import publish_address
from reelstate.cli.session import settings_for
from reelstate.cli.state_files import address_file, write_key
from reelstate.core.errors import NotFound
from reelstate.core.machine import JobStatus
from reelstate.core.model import Json
from reelstate.core.pipeline import Graph, StageSpec
from reelstate.engine import Engine
from reelstate.library.playback import Playback
from reelstate.library.videos import Videos
from reelstate.services.keys import Keys, MadeKey, Scope
from tests.api.api_server import SETTINGS
from tests.cli.conftest import Reel, database_only
from tests.engines import a_worker, done, failed

REEL = Path(sys.executable).with_name("reel")
TRANSCODE = Graph.of(
    "transcode",
    built_in=True,
    stages=[
        StageSpec(name="plan", phase=JobStatus.PLANNING),
        StageSpec(name="fetch", after=("plan",), phase=JobStatus.DOWNLOADING_INPUTS),
        StageSpec(name="encode", after=("fetch",), each="fetch.chunks"),
        StageSpec(name="publish", after=("encode",), phase=JobStatus.UPLOADING_OUTPUTS),
    ],
)
CHUNKS = [{"number": 0, "segments": [60, 60]}, {"number": 1, "segments": [60]}]
RESULTS: dict[str, Json] = {
    "plan": {
        "rungs": [{"name": "720p", "required": True}, {"name": "360p", "required": False}],
        "skipped": [["1080p", "higher than the source"]],
    },
    "fetch": {"chunks": CHUNKS},
    "encode": {"rungs": {"720p": {"segments": []}}, "failed": {"360p": "no [memory]"}},
    "publish": {"master": "m.m3u8"},
}


async def declared(engine: Engine) -> None:
    await engine.declare(TRANSCODE)


async def a_video(engine: Engine) -> tuple[int, int]:
    """Submit a video, and return its id and the id of its job."""
    await engine.declare(TRANSCODE)
    result = await Videos(engine).submit("/videos/a.mp4", title="A [title]", spec={"profile": "small"}, user_id="ada")
    return result.resource_id or 0, result.job_id


async def complete_all(engine: Engine) -> None:
    await engine.declare(TRANSCODE)
    worker = await a_worker(engine)
    while tasks := (await engine.claim(worker, 10)).tasks:
        await engine.complete([done(task, RESULTS[task.stage_name]) for task in tasks])


async def half_done(engine: Engine) -> tuple[int, int]:
    """Submit a video and encode one of its two chunks."""
    video = await a_video(engine)
    worker = await a_worker(engine)
    for _ in range(3):
        (task,) = (await engine.claim(worker, 1)).tasks
        await engine.complete([done(task, RESULTS[task.stage_name])])
    return video


async def broken(engine: Engine) -> tuple[int, int]:
    video = await a_video(engine)
    (task,) = (await engine.claim(await a_worker(engine), 1)).tasks
    await engine.fail([failed(task, retryable=False, error="no such codec")])
    return video


async def two_versions(engine: Engine) -> tuple[int, int, int]:
    video_id, first = await a_video(engine)
    await complete_all(engine)
    second = (await Videos(engine).retranscode(video_id)).job_id
    await complete_all(engine)
    return video_id, first, second


def specs(reel: Reel) -> list[Any]:
    return [job["spec"] for job in reel("jobs", "--json").json]


def test_videos_are_listed_filtered_and_paged(reel: Reel) -> None:
    failed_one, _ = reel.engine(broken)
    waiting, _ = reel.engine(a_video)

    def ids(*options: str) -> list[int]:
        return [video["id"] for video in reel("videos", "--json", *options).json]

    assert ids() == [waiting, failed_one]
    assert reel("videos", "list", "--json").json == reel("videos", "--json").json
    assert (ids("--status", "failed"), ids("--status", "ready"), ids("--user", "ada")) == ([failed_one], [], ids())
    assert (ids("--limit", "1"), ids("--after", str(waiting))) == ([waiting], [failed_one])
    text = reel("videos", "--limit", "1").text
    assert "A [title]" in text
    assert f"--after {waiting}" in text
    assert "no such video" in reel("videos", "--status", "ready").text
    assert reel("videos", "--status", "odd").code == 2


def test_a_video_is_shown_with_its_qualities_and_versions(reel: Reel) -> None:
    video_id, first, second = reel.engine(two_versions)
    document = reel("videos", "show", video_id, "--json", REEL_STORAGE_URL="s3://videos/x/").json
    assert (document["title"], document["status"], document["current"], document["pinned"]) == (
        "A [title]",
        "ready",
        second,
        None,
    )
    files = f"{reel.server.get('REEL_SERVER')}/api/v1/videos/{video_id}/files" if reel.server else "s3://videos/x"
    assert document["plays"] == f"{files}/videos/{video_id}/master.m3u8"
    assert [(each["job"], each["status"], each["current"]) for each in document["versions"]] == [
        (second, "completed", True),
        (first, "completed", False),
    ]
    assert document["versions"][0]["outputs"] == {"publish": {"master": "m.m3u8"}}
    kept = ("quality", "required", "status", "segments_total", "segments_completed", "progress_percent")
    assert [tuple(each[name] for name in kept) for each in document["qualities"]] == [
        ("720p", True, "completed", 3, 3, 100),
        ("360p", False, "failed", 3, 0, 0),
        ("1080p", False, "skipped", 0, 0, 0),
    ]
    text = reel("videos", "show", video_id).text
    for expected in ("A [title] ready", "from /videos/a.mp4", "chunk 0: no [memory]", f"{second} completed plays"):
        assert expected in text
    root = files if reel.server else f"{reel.folder}/media"
    assert f"plays: {root}/videos/{video_id}/master.m3u8" in text


def test_qualities_are_those_of_the_version_in_progress(reel: Reel) -> None:
    video_id, job_id = reel.engine(half_done)
    document = reel("videos", "show", video_id, "--json").json
    assert (document["status"], document["plays"], document["latest"]) == ("processing", None, job_id)
    (sd,) = [each for each in document["qualities"] if each["quality"] == "720p"]
    assert (sd["status"], sd["segments_completed"], sd["segments_total"]) == ("in_progress", 2, 3)
    assert "plays:" not in reel("videos", "show", video_id).text


def test_a_failed_video_shows_a_hint(reel: Reel) -> None:
    video_id, job_id = reel.engine(broken)
    text = reel("videos", "show", video_id).text
    assert f"`reel job {job_id}` shows why" in text
    assert f"reel videos retranscode {video_id}" in text
    assert "no such codec" in text


def test_a_retranscode_makes_a_version(reel: Reel) -> None:
    video_id, first, second = reel.engine(two_versions)
    chosen = ("--profile", "fast", "--quality", "720p", "--quality", "360p")
    options = (*chosen, "--captions", "drop", "--priority", "high", "--idempotency-key", "k")
    result = reel("videos", "retranscode", video_id, *options, "--json")
    assert (result.code, result.json["id"], result.json["verdict"]) == (0, video_id, "ok")
    job = reel("job", result.json["job"], "--json").json
    assert (job["priority"], job["resource_id"]) == (8, video_id)
    shown = reel("videos", "show", video_id).stdout.splitlines()
    whats = {line.split()[0]: line for line in shown if line.strip()[:1].isdigit()}
    assert whats[str(job["id"])].rstrip().endswith("fast 720p 360p")
    assert whats[str(first)].rstrip().endswith("small")
    assert job["spec"] == {
        "source": "/videos/a.mp4",
        "profile": "fast",
        "video_id": video_id,
        "qualities": ["720p", "360p"],
        "captions": "drop",
        "reuse_from": second,
    }
    assert "was submitted before" in reel("videos", "retranscode", video_id, *options).text
    assert reel("videos", "show", video_id, "--json").json["current"] == second
    assert first < second
    wrong = reel("videos", "retranscode", video_id, "--quality", "720")
    assert (wrong.code, "the profile has no rung '720' hint: rungs: " in wrong.text) == (1, True)


def test_a_profile_is_a_name_or_a_file(reel: Reel) -> None:
    video_id, _ = reel.engine(a_video)
    profile = {"name": "mine", "rungs": [{"name": "360p", "height": 360, "crf": 23, "max_bitrate": 800000}]}
    (reel.folder / "mine.json").write_text(json.dumps(profile))
    assert reel("videos", "retranscode", video_id, "--profile", "hevc").code == 0
    assert reel("videos", "retranscode", video_id, "--profile", "mine.json").code == 0
    file, name, _ = specs(reel)
    assert (file["profile"]["name"], name["profile"]) == ("mine", "hevc")
    wrong = reel("videos", "retranscode", video_id, "--profile", "nothing")
    assert (wrong.code, "there is no profile 'nothing'" in wrong.text) == (1, True)


def test_retranscode_waits_for_the_job(reel: Reel) -> None:
    video_id, _ = reel.engine(broken)
    key = ("--idempotency-key", "once")
    reel("videos", "retranscode", video_id, *key)
    reel.engine(complete_all)
    result = reel("videos", "retranscode", video_id, *key, "--wait", "--json")
    assert (result.code, result.json["status"], result.json["verdict"]) == (0, "completed", "repeated")


def test_a_rollback_pins_a_version_until_unpin(reel: Reel) -> None:
    video_id, first, second = reel.engine(two_versions)
    assert reel("videos", "rollback", video_id, "--reason", "green").text == f"video {video_id}: plays version {first}"
    document = reel("videos", "show", video_id, "--json").json
    assert (document["pinned"], document["current"], document["reason"]) == (first, first, "green")
    assert document["actor"].startswith("operator")
    assert "plays, pinned" in reel("videos", "show", video_id).text
    assert f"{first} (pinned)" in reel("videos").text
    again = reel("videos", "rollback", video_id, "--to", first, "--json").json
    assert again == {"id": video_id, "job": first, "verdict": "repeated"}
    assert "no earlier version" in reel("videos", "rollback", video_id).text
    assert reel("videos", "unpin", video_id, "--json").json == {"id": video_id, "job": second, "verdict": "ok"}
    assert reel("videos", "unpin", video_id).text == f"video {video_id}: is not pinned"
    assert reel("videos", "rollback", video_id, "--to", second).code == 0


def test_a_video_is_deleted(reel: Reel) -> None:
    video_id, job_id = reel.engine(a_video)
    assert reel("videos", "delete", video_id, "--reason", "rights").text == f"video {video_id}: deleted"
    assert reel("job", job_id, "--json").json["status"] == "cancelled"
    assert reel("videos", "--json").json == []
    assert [video["id"] for video in reel("videos", "--deleted", "--json").json] == [video_id]
    assert "deleted" in reel("videos", "show", video_id).text
    assert reel("videos", "delete", video_id, "--json").json == {"id": video_id, "verdict": "repeated"}
    refused = reel("videos", "retranscode", video_id)
    assert (refused.code, "was deleted" in refused.text) == (1, True)


@pytest.mark.parametrize("verb", ["show", "retranscode", "rollback", "unpin", "delete"])
def test_an_unknown_video_is_refused(reel: Reel, verb: str) -> None:
    reel.engine(declared)
    result = reel("videos", verb, 7)
    assert (result.code, result.stdout) == (1, "")
    assert result.stderr == "error: there is no video 7\nhint:  `reel videos` lists videos\n"
    odd = reel("videos", verb, "x")
    assert (odd.code, "not a video id" in odd.text) == (2, True)


@database_only
def test_files_of_a_folder_are_ingested_once(reel: Reel) -> None:
    reel.engine(declared)
    incoming = reel.folder / "in" / "deep"
    incoming.mkdir(parents=True)
    (incoming / "a.mp4").write_bytes(b"video")
    (incoming / "b.mov").write_bytes(b"")
    (incoming / "c.txt").write_bytes(b"video")
    options = ("--settle", "0", "--profile", "small", "--priority", "9", "--user", "ada")
    first = reel("ingest", "in", *options)
    assert first.code == 0
    assert "a.mp4: video" in first.text
    assert "b.mov: skipped: is empty" in first.text
    assert "1 submitted, 0 submitted before, 1 skipped" in first.text
    (video,) = reel("videos", "--json").json
    (spec,) = specs(reel)
    assert (video["title"], video["user_id"], spec["profile"]) == ("a", "ada", "small")
    again = reel("ingest", "in", "--settle", "0", "--user", "ada", "--pattern", "*.mp4", "--json")
    assert json.loads(again.stdout) == {
        "path": str(incoming / "a.mp4"),
        "verdict": "repeated",
        "reason": None,
        "video": video["id"],
        "job": video["latest"],
    }


@database_only
def test_a_missing_folder_is_refused_before_the_database_is_opened(reel: Reel) -> None:
    result = reel("ingest", "nowhere")
    assert (result.code, result.stdout) == (1, "")
    assert "nowhere does not exist" in result.text


@database_only
def test_ingest_watch_submits_new_files_until_ctrl_c(reel: Reel) -> None:
    reel.engine(declared)
    incoming = reel.folder / "in"
    incoming.mkdir()
    (incoming / "a.mp4").write_bytes(b"video")
    command = [str(REEL), "ingest", "in", "--watch", "--settle", "0.05", "--json"]
    with subprocess.Popen(command, cwd=reel.folder, stdout=PIPE, stderr=PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            names = [Path(json.loads(process.stdout.readline())["path"]).name]
            (incoming / "b.mp4").write_bytes(b"video")
            names.append(Path(json.loads(process.stdout.readline())["path"]).name)
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=300)
        finally:
            process.kill()
    assert (names, process.returncode) == (["a.mp4", "b.mp4"], 0)
    assert errors.splitlines() == [
        "watching in; ctrl-C stops it",
        "2 submitted, 0 submitted before, 0 skipped",
    ]


@database_only
def test_a_playback_url_is_valid_as_long_as_the_admin_key(reel: Reel) -> None:
    video_id, *_ = reel.engine(two_versions)
    refused = reel("videos", "play", video_id)
    assert (refused.code, "reel serve" in refused.text) == (1, True)
    made = _write_key(reel)
    url = reel("videos", "play", video_id, "--json", REEL_SERVER_URL="https://videos.example").json["url"]
    assert url.startswith("https://videos.example/play/")
    assert url.endswith(f"/videos/{video_id}/master.m3u8")

    async def ticket_video(engine: Engine) -> int:
        return await Playback(engine.store).ticket_video(url.split("/")[4])

    assert reel.engine(ticket_video) == video_id

    async def revoke(engine: Engine) -> None:
        await Keys(engine.store).revoke(made.key.id, actor="operator:test")

    reel.engine(revoke)
    with pytest.raises(NotFound):
        reel.engine(ticket_video)
    assert reel("videos", "play", video_id, REEL_SERVER_URL="https://videos.example").code == 1


@database_only
def test_a_playback_url_uses_the_address_of_the_running_server(reel: Reel) -> None:
    video_id, *_ = reel.engine(two_versions)
    _write_key(reel)
    missing = reel("videos", "play", video_id)
    assert (missing.code, missing.stdout) == (1, "")
    assert "no server of this deployment runs here hint: start one with `reel up`" in missing.text
    with closing(listen(SETTINGS)) as made:
        url = url_of(SETTINGS, made)
        with publish_address(settings_for(), url):
            shown = reel("videos", "play", video_id, "--lifetime", "60").stdout.strip()
            assert shown.startswith(f"{url}/play/")
            made.close()
            stopped = reel("videos", "play", video_id)
            assert (stopped.code, f"the server at {url} does not respond" in stopped.text) == (1, True)
    assert not address_file(settings_for()).exists()


@database_only
def test_a_server_that_stops_keeps_the_address_of_another(reel: Reel) -> None:
    with publish_address(settings_for(), "http://127.0.0.1:1"):
        path = address_file(settings_for())
        path.write_text("http://127.0.0.1:2\n")
    assert path.read_text() == "http://127.0.0.1:2\n"


def test_a_video_without_a_playlist_has_no_playback_url(reel: Reel) -> None:
    _write_key(reel)
    (failing, _), (waiting, _) = reel.engine(broken), reel.engine(a_video)
    served = {"REEL_SERVER_URL": "https://videos.example"}
    pending = f"is pending hint: `reel videos show {waiting}` shows its progress"
    for video_id, text in ((waiting, pending), (failing, "is failed")):
        result = reel("videos", "play", video_id, **served)
        assert (result.code, result.stdout) == (1, "")
        assert f"{video_id} has nothing to play yet: it {text}" in result.text
    growing = reel.folder / "media" / "videos" / str(waiting)
    growing.mkdir(parents=True)
    (growing / "master.m3u8").write_text("#EXTM3U\n")
    assert reel("videos", "play", waiting, **served).code == 0
    reel("videos", "delete", failing)
    assert f"{failing} was deleted" in reel("videos", "play", failing, **served).text


def _write_key(reel: Reel) -> MadeKey:
    made = reel.engine(_create_key)
    write_key(settings_for(), made.text)
    return made


async def _create_key(engine: Engine) -> MadeKey:
    return await Keys(engine.store).create("admin", scopes=[Scope.ADMIN], actor="operator:test")


async def a_failed_retranscode(engine: Engine) -> int:
    """A video of 12.5 s whose second version failed."""
    video_id, _ = await a_video(engine)
    worker = await a_worker(engine)
    results = {**RESULTS, "publish": {"master": "m.m3u8", "duration": 12.5}}
    while tasks := (await engine.claim(worker, 10)).tasks:
        await engine.complete([done(task, results[task.stage_name]) for task in tasks])
    await Videos(engine).retranscode(video_id)
    (plan,) = (await engine.claim(worker)).tasks
    await engine.fail([failed(plan, retryable=False, error="no [memory]")])
    return video_id


def test_a_video_shows_its_duration_and_why_its_latest_version_failed(reel: Reel) -> None:
    video_id = reel.engine(a_failed_retranscode)
    shown = reel("videos", "show", video_id, "--json").json
    assert (shown["duration"], shown["error"]["cause"]["message"]) == (12.5, "no [memory]")
    page = reel("videos", "show", video_id).text
    assert "12 s long" in page
    assert f"version {shown['latest']} failed: " in page
    assert "no [memory]" in page
    assert " 12 s " in reel("videos").text
