"""videos, ingest: what they do, and what they tell people and programs."""

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
from tests.cli.conftest import Reel
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
    """A video that waits; gives it and its job."""
    await engine.declare(TRANSCODE)
    answer = await Videos(engine).submit("/films/a.mp4", title="A [film]", spec={"profile": "small"}, user_id="ada")
    return answer.resource_id or 0, answer.job_id


async def finished(engine: Engine) -> None:
    await engine.declare(TRANSCODE)
    worker = await a_worker(engine)
    while tasks := (await engine.claim(worker, 10)).tasks:
        await engine.complete([done(task, RESULTS[task.stage_name]) for task in tasks])


async def half_done(engine: Engine) -> tuple[int, int]:
    """One of two chunks is encoded."""
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
    await finished(engine)
    second = (await Videos(engine).retranscode(video_id)).job_id
    await finished(engine)
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
    text = reel("videos", "--limit", "1").words
    assert "A [film]" in text
    assert f"--after {waiting}" in text
    assert "no such video" in reel("videos", "--status", "ready").words
    assert reel("videos", "--status", "odd").code == 2


def test_a_video_is_shown_with_its_qualities_and_versions(reel: Reel) -> None:
    video_id, first, second = reel.engine(two_versions)
    told = reel("videos", "show", video_id, "--json", REEL_STORAGE_URL="s3://films/x/").json
    assert (told["title"], told["status"], told["current"], told["pinned"]) == ("A [film]", "ready", second, None)
    assert told["plays"] == f"s3://films/x/videos/{video_id}/master.m3u8"
    assert [(each["job"], each["status"], each["current"]) for each in told["versions"]] == [
        (second, "completed", True),
        (first, "completed", False),
    ]
    assert told["versions"][0]["outputs"] == {"publish": {"master": "m.m3u8"}}
    kept = ("quality", "required", "status", "segments_total", "segments_completed", "progress_percent")
    assert [tuple(each[name] for name in kept) for each in told["qualities"]] == [
        ("720p", True, "completed", 3, 3, 100),
        ("360p", False, "failed", 3, 0, 0),
        ("1080p", False, "skipped", 0, 0, 0),
    ]
    words = reel("videos", "show", video_id).words
    for expected in ("A [film] ready", "from /films/a.mp4", "chunk 0: no [memory]", f"{second} completed plays"):
        assert expected in words
    assert f"plays: {reel.folder}/media/videos/{video_id}/master.m3u8" in words


def test_the_qualities_are_those_of_the_version_that_is_made(reel: Reel) -> None:
    video_id, job_id = reel.engine(half_done)
    told = reel("videos", "show", video_id, "--json").json
    assert (told["status"], told["plays"], told["latest"]) == ("processing", None, job_id)
    (sd,) = [each for each in told["qualities"] if each["quality"] == "720p"]
    assert (sd["status"], sd["segments_completed"], sd["segments_total"]) == ("in_progress", 2, 3)
    assert "plays:" not in reel("videos", "show", video_id).words


def test_a_failed_video_says_what_to_do(reel: Reel) -> None:
    video_id, job_id = reel.engine(broken)
    words = reel("videos", "show", video_id).words
    assert f"`reel job {job_id}` says why" in words
    assert f"reel videos retranscode {video_id}" in words
    assert "no such codec" in words


def test_a_retranscode_makes_a_version(reel: Reel) -> None:
    video_id, first, second = reel.engine(two_versions)
    chosen = ("--profile", "fast", "--quality", "720p", "--quality", "360p")
    options = (*chosen, "--captions", "drop", "--priority", "high", "--idempotency-key", "k")
    answer = reel("videos", "retranscode", video_id, *options, "--json")
    assert (answer.code, answer.json["id"], answer.json["verdict"]) == (0, video_id, "ok")
    job = reel("job", answer.json["job"], "--json").json
    assert (job["priority"], job["video_id"]) == (8, video_id)
    shown = reel("videos", "show", video_id).stdout.splitlines()
    whats = {line.split()[0]: line for line in shown if line.strip()[:1].isdigit()}
    assert whats[str(job["id"])].rstrip().endswith("fast 720p 360p")
    assert whats[str(first)].rstrip().endswith("small")
    assert job["spec"] == {
        "source": "/films/a.mp4",
        "profile": "fast",
        "video_id": video_id,
        "qualities": ["720p", "360p"],
        "captions": "drop",
        "reuse_from": second,
    }
    assert "was submitted before" in reel("videos", "retranscode", video_id, *options).words
    assert reel("videos", "show", video_id, "--json").json["current"] == second
    assert first < second
    wrong = reel("videos", "retranscode", video_id, "--quality", "720")
    assert (wrong.code, "the profile has no rung '720' hint: rungs: " in wrong.words) == (1, True)


def test_a_profile_is_a_name_or_a_file(reel: Reel) -> None:
    video_id, _ = reel.engine(a_video)
    own = {"name": "mine", "rungs": [{"name": "360p", "height": 360, "crf": 23, "max_bitrate": 800000}]}
    (reel.folder / "mine.json").write_text(json.dumps(own))
    assert reel("videos", "retranscode", video_id, "--profile", "hevc").code == 0
    assert reel("videos", "retranscode", video_id, "--profile", "mine.json").code == 0
    file, name, _ = specs(reel)
    assert (file["profile"]["name"], name["profile"]) == ("mine", "hevc")
    wrong = reel("videos", "retranscode", video_id, "--profile", "nothing")
    assert (wrong.code, "there is no profile 'nothing'" in wrong.words) == (1, True)


def test_a_retranscode_is_waited_for(reel: Reel) -> None:
    video_id, _ = reel.engine(broken)
    key = ("--idempotency-key", "once")
    reel("videos", "retranscode", video_id, *key)
    reel.engine(finished)
    answer = reel("videos", "retranscode", video_id, *key, "--wait", "--json")
    assert (answer.code, answer.json["status"], answer.json["verdict"]) == (0, "completed", "repeated")


def test_a_rollback_pins_until_it_is_unpinned(reel: Reel) -> None:
    video_id, first, second = reel.engine(two_versions)
    assert reel("videos", "rollback", video_id, "--reason", "green").words == f"video {video_id}: plays version {first}"
    told = reel("videos", "show", video_id, "--json").json
    assert (told["pinned"], told["current"], told["reason"]) == (first, first, "green")
    assert told["actor"].startswith("operator")
    assert "plays, pinned" in reel("videos", "show", video_id).words
    assert f"{first} (pinned)" in reel("videos").words
    again = reel("videos", "rollback", video_id, "--to", first, "--json").json
    assert again == {"id": video_id, "job": first, "verdict": "repeated"}
    assert "no earlier version" in reel("videos", "rollback", video_id).words
    assert reel("videos", "unpin", video_id, "--json").json == {"id": video_id, "job": second, "verdict": "ok"}
    assert reel("videos", "unpin", video_id).words == f"video {video_id}: is not pinned"
    assert reel("videos", "rollback", video_id, "--to", second).code == 0


def test_a_video_is_deleted(reel: Reel) -> None:
    video_id, job_id = reel.engine(a_video)
    assert reel("videos", "delete", video_id, "--reason", "rights").words == f"video {video_id}: deleted"
    assert reel("job", job_id, "--json").json["status"] == "cancelled"
    assert reel("videos", "--json").json == []
    assert [video["id"] for video in reel("videos", "--deleted", "--json").json] == [video_id]
    assert "deleted" in reel("videos", "show", video_id).words
    assert reel("videos", "delete", video_id, "--json").json == {"id": video_id, "verdict": "repeated"}
    refused = reel("videos", "retranscode", video_id)
    assert (refused.code, "was deleted" in refused.words) == (1, True)


@pytest.mark.parametrize("verb", ["show", "retranscode", "rollback", "unpin", "delete"])
def test_a_video_that_is_not_there_is_refused(reel: Reel, verb: str) -> None:
    reel.engine(declared)
    answer = reel("videos", verb, 7)
    assert (answer.code, answer.stdout) == (1, "")
    assert answer.stderr == "error: there is no video 7\nhint:  `reel videos` lists videos\n"
    odd = reel("videos", verb, "x")
    assert (odd.code, "not a video id" in odd.words) == (2, True)


def test_a_folder_is_taken_once(reel: Reel) -> None:
    reel.engine(declared)
    incoming = reel.folder / "in" / "deep"
    incoming.mkdir(parents=True)
    (incoming / "a.mp4").write_bytes(b"film")
    (incoming / "b.mov").write_bytes(b"")
    (incoming / "c.txt").write_bytes(b"film")
    options = ("--settle", "0", "--profile", "small", "--priority", "9", "--user", "ada")
    first = reel("ingest", "in", *options)
    assert first.code == 0
    assert "a.mp4: video" in first.words
    assert "b.mov: skipped: is empty" in first.words
    assert "1 submitted, 0 were submitted before, 1 left alone" in first.words
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


def test_a_folder_that_is_none_is_told_before_anything_is_opened(reel: Reel) -> None:
    answer = reel("ingest", "nowhere")
    assert (answer.code, answer.stdout) == (1, "")
    assert "nowhere does not exist" in answer.words


def test_a_watch_takes_what_comes_and_ends_at_ctrl_c(reel: Reel) -> None:
    reel.engine(declared)
    incoming = reel.folder / "in"
    incoming.mkdir()
    (incoming / "a.mp4").write_bytes(b"film")
    command = [str(REEL), "ingest", "in", "--watch", "--settle", "0.05", "--json"]
    with subprocess.Popen(command, cwd=reel.folder, stdout=PIPE, stderr=PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            names = [Path(json.loads(process.stdout.readline())["path"]).name]
            (incoming / "b.mp4").write_bytes(b"film")
            names.append(Path(json.loads(process.stdout.readline())["path"]).name)
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=300)
        finally:
            process.kill()
    assert (names, process.returncode) == (["a.mp4", "b.mp4"], 0)
    assert errors.splitlines() == [
        "watching in; ctrl-C ends it",
        "2 submitted, 0 were submitted before, 0 left alone",
    ]


def test_an_address_to_play_is_made_with_the_key_of_the_house_and_ends_with_it(reel: Reel) -> None:
    video_id, *_ = reel.engine(two_versions)
    refused = reel("videos", "play", video_id)
    assert (refused.code, "reel serve" in refused.words) == (1, True)
    made = _keep_key(reel)
    url = reel("videos", "play", video_id, "--json", REEL_SERVER_URL="https://films.example").json["url"]
    assert url.startswith("https://films.example/play/")
    assert url.endswith(f"/videos/{video_id}/master.m3u8")

    async def admitted(engine: Engine) -> int:
        return await Playback(engine.store).ticket_video(url.split("/")[4])

    assert reel.engine(admitted) == video_id

    async def revoked(engine: Engine) -> None:
        await Keys(engine.store).revoke(made.key.id, actor="operator:test")

    reel.engine(revoked)
    with pytest.raises(NotFound):
        reel.engine(admitted)
    assert reel("videos", "play", video_id, REEL_SERVER_URL="https://films.example").code == 1


def test_an_address_to_play_is_where_the_house_serves(reel: Reel) -> None:
    video_id, *_ = reel.engine(two_versions)
    _keep_key(reel)
    nobody = reel("videos", "play", video_id)
    assert (nobody.code, nobody.stdout) == (1, "")
    assert "no server of this deployment runs here hint: start one with `reel up`" in nobody.words
    with closing(listen(SETTINGS)) as made:
        place = url_of(SETTINGS, made)
        with publish_address(settings_for(), place):
            shown = reel("videos", "play", video_id, "--lifetime", "60").stdout.strip()
            assert shown.startswith(f"{place}/play/")
            made.close()
            gone = reel("videos", "play", video_id)
            assert (gone.code, f"the server at {place} does not respond" in gone.words) == (1, True)
    assert not address_file(settings_for()).exists()


def test_a_server_that_ends_leaves_the_address_of_another(reel: Reel) -> None:
    with publish_address(settings_for(), "http://127.0.0.1:1"):
        path = address_file(settings_for())
        path.write_text("http://127.0.0.1:2\n")
    assert path.read_text() == "http://127.0.0.1:2\n"


def test_what_can_not_be_played_yet_gets_no_address(reel: Reel) -> None:
    _keep_key(reel)
    (failing, _), (waiting, _) = reel.engine(broken), reel.engine(a_video)
    served = {"REEL_SERVER_URL": "https://films.example"}
    for video_id, words in ((waiting, "is pending hint: `reel videos show {} says how far"), (failing, "is failed")):
        answer = reel("videos", "play", video_id, **served)
        assert (answer.code, answer.stdout) == (1, "")
        assert f"nothing of {video_id} can be played yet: it {words.format(f'{video_id}`')}" in answer.words
    growing = reel.folder / "media" / "videos" / str(waiting)
    growing.mkdir(parents=True)
    (growing / "master.m3u8").write_text("#EXTM3U\n")
    assert reel("videos", "play", waiting, **served).code == 0
    reel("videos", "delete", failing)
    assert f"{failing} was deleted" in reel("videos", "play", failing, **served).words


def _keep_key(reel: Reel) -> MadeKey:
    made = reel.engine(_key)
    write_key(settings_for(), made.text)
    return made


async def _key(engine: Engine) -> MadeKey:
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


def test_a_video_shows_how_long_it_is_and_why_its_latest_version_failed(reel: Reel) -> None:
    video_id = reel.engine(a_failed_retranscode)
    shown = reel("videos", "show", video_id, "--json").json
    assert (shown["duration"], shown["error"]["cause"]["message"]) == (12.5, "no [memory]")
    page = reel("videos", "show", video_id).words
    assert "12 s long" in page
    assert f"version {shown['latest']} failed: " in page
    assert "no [memory]" in page
    assert " 12 s " in reel("videos").words
