"""`reel submit`, with and without --wait."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from subprocess import PIPE

import pytest

from reelstate.app import open_engine
from reelstate.core.outcome import Retry
from reelstate.core.pipeline import Graph, StageSpec
from reelstate.engine import Engine
from reelstate.pipelines.declaration import Pipeline
from reelstate.worker.run import BlockingRun
from tests.cli import sample_jobs
from tests.cli.conftest import APP_MODULE, Reel, database_only
from tests.cli.test_videos import declared

REEL = Path(sys.executable).with_name("reel")
APP = """
import reelstate as rs

clips = rs.Pipeline("clips")

@clips.stage
def cut(task):
    return task.input

both = [clips, rs.Pipeline("other")]
both[1].stage(cut)
"""


def spec_of(reel: Reel, job_id: int) -> object:
    return reel("job", job_id, "--json").json["spec"]


def test_a_spec_is_an_argument_a_file_or_standard_input(reel: Reel) -> None:
    reel.engine(sample_jobs.waiting)
    spec = {"file": "ä.mp4", "deep": [1, {"x": None}]}
    (reel.folder / "spec.json").write_text(json.dumps(spec))
    for given in (json.dumps(spec), "@spec.json", "-"):
        result = reel("submit", "simple", "--spec", given, "--json", stdin=json.dumps(spec))
        assert (result.code, result.json["verdict"], result.json["pipeline"]) == (0, "ok", "simple")
        assert spec_of(reel, result.json["id"]) == spec


def test_options_are_set_on_the_job(reel: Reel) -> None:
    reel.engine(sample_jobs.waiting)
    options = ("--priority", "high", "--idempotency-key", "k", "--user", "ada", "--delay", 30)
    result = reel("submit", "simple", *options, "--json")
    job = reel("job", result.json["id"], "--json").json
    assert (job["priority"], job["user_id"], job["spec"]) == (8, "ada", {})
    assert job["run_after"] is not None
    again = reel("submit", "simple", *options, "--json")
    assert again.json == {**result.json, "verdict": "repeated"}
    assert "was submitted before with this idempotency key" in reel("submit", "simple", *options).stdout
    conflict = reel("submit", "simple", "--idempotency-key", "k", "--user", "ada")
    assert (conflict.code, conflict.stdout) == (1, "")
    assert "was used for job" in conflict.stderr


@database_only
@pytest.mark.parametrize("app, pipeline", [("clips:clips", "clips"), ("clips:both", "other"), ("clips.py", "clips")])
def test_app_declares_the_pipelines(reel: Reel, app: str, pipeline: str) -> None:
    reel("migrate")
    (reel.folder / "clips.py").write_text(APP)
    assert reel("submit", pipeline).code == 1
    assert reel("submit", pipeline, "--app", app).code == 0
    sys.modules.pop(APP_MODULE)
    assert reel("submit", pipeline, REEL_APP=app).code == 0
    assert reel("submit", pipeline).code == 0


async def shots_with_a_schema(engine: Engine) -> None:
    schema = {"required": ["video"], "properties": {"video": {"type": "string"}}}
    await engine.declare(Graph.of("shots", [StageSpec(name="grab")], spec=schema))


def test_a_spec_is_checked_without_the_code(reel: Reel) -> None:
    reel.engine(shots_with_a_schema)
    for spec, message in (("{}", "spec.video: is missing"), ('{"video": 7}', 'spec.video: 7 is not of type "string"')):
        result = reel("submit", "shots", "--spec", spec)
        assert (result.code, result.stdout) == (1, "")
        assert message in result.text
        assert "expected string" in result.text
    assert reel("submit", "shots", "--spec", '{"video": "a.mp4"}').code == 0
    shown = {version["name"]: version["spec"] for version in reel("pipelines", "--json").json}
    assert shown["shots"]["required"] == ["video"]


quick = Pipeline("quick")


@quick.stage
def first(task: object) -> dict[str, object]:
    return {"items": [1, 2]}


@quick.stage(after=first, each="first.items")
def second(task: object) -> None:
    return None


flawed = Pipeline("flawed")


@flawed.stage(attempts=1)
def crash(task: object) -> None:
    raise ValueError("no such [codec]")


retried = Pipeline("retried")


@retried.stage
def greet(task: BlockingRun) -> str:
    if task.attempt == 1:
        raise Retry("not [yet]", after=1)
    return "[bold]text"


@pytest.fixture
def worker(reel: Reel) -> Iterator[None]:
    """Run a worker in a thread."""
    ready, stop = threading.Event(), threading.Event()

    async def work() -> None:
        async with open_engine(reel.url, pipelines=[quick, flawed, retried], workers=2):
            ready.set()
            await asyncio.to_thread(stop.wait)

    thread = threading.Thread(target=lambda: asyncio.run(work()))
    thread.start()
    assert ready.wait(300)
    yield
    stop.set()
    thread.join(300)


def test_wait_returns_an_exit_code_for_the_status(reel: Reel, worker: None) -> None:
    good = reel("submit", "quick", "--wait")
    assert good.code == 0
    assert "completed  100 %  first 1/1 second 2/2" in good.stdout
    bad = reel("submit", "flawed", "--wait")
    assert bad.code == 1
    assert "no such [codec]" in bad.stdout
    assert "reel retry" in bad.stdout
    result = reel("submit", "flawed", "--wait", "--json")
    assert (result.code, result.json["status"], result.json["verdict"]) == (1, "failed", "ok")


def test_wait_shows_failed_attempts_and_outputs(reel: Reel, worker: None) -> None:
    result = reel("submit", "retried", "--wait")
    assert result.stdout.count("greet/0 failed (attempt 1 of 3): not [yet]") == 1
    assert 'outputs: {"greet": "[bold]text"}' in result.stdout


def test_wait_shows_bars_on_a_terminal(reel: Reel, worker: None) -> None:
    shown = reel("submit", "quick", "--wait", NO_COLOR="", FORCE_COLOR="1", TERM="xterm-256color")
    assert shown.code == 0
    assert "━" in shown.stdout
    assert "second" in shown.stdout
    assert "\x1b[?25h" in shown.stdout, "the cursor is shown again"


def test_watch_prints_events_until_the_job_is_inactive(reel: Reel, worker: None) -> None:
    job_id = reel("submit", "quick", "--json").json["id"]
    watched = reel("watch", job_id, "--json")
    assert watched.code == 0
    assert [json.loads(line) for line in watched.stdout.splitlines()] == reel("history", job_id, "--json").json
    assert "completed" in reel("watch", job_id).stdout
    failed = reel("submit", "flawed", "--wait", "--json").json["id"]
    assert reel("watch", failed).code == reel("watch", failed, "--json").code == 1


def test_a_submitted_file_becomes_a_video(reel: Reel) -> None:
    reel.engine(declared)
    (reel.folder / "a video.mp4").write_bytes(b"x")
    result = reel("submit", "transcode", "a video.mp4", "--profile", "small", "--quality", "240p", "--json")
    assert result.code == 0, result.stderr
    source = f"stored://{sha256(b'x').hexdigest()}" if reel.server else str(reel.folder / "a video.mp4")
    spec = {"source": source, "video_id": result.json["video"], "profile": "small", "qualities": ["240p"]}
    assert spec_of(reel, result.json["id"]) == spec
    (video,) = reel("videos", "--json").json
    assert (video["id"], video["title"], video["source"]) == (result.json["video"], "a video.mp4", source)


def test_secrets_in_a_url_are_not_shown(reel: Reel) -> None:
    reel.engine(declared)
    source = "https://ada:hunter2@videos.example/a%20video.mp4?X-Signature=hunter2"
    video = reel("submit", "transcode", source, "--json").json["video"]
    assert reel("videos", "show", video, "--json").json["title"] == "a video.mp4"
    text = reel("videos", "show", video).text
    assert "from https://videos.example/a%20video.mp4?…" in text
    assert "hunter2" not in text


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["transcode"], "missing, for example: reel submit transcode movie.mp4"),
        (["transcode", "none.mp4"], "there is no file"),
        (["transcode", "."], "is a folder; `reel ingest .` submits its files"),
        (["transcode", "ftp://host/a.mp4"], "error: ftp:// is not supported hint: expected an absolute path, file://"),
        (["transcode", "http:///a.mp4"], "error: http:// needs a host and a path"),
        (["transcode", "a.mp4", "--profile", "huge"], "there is no profile 'huge' hint: profiles: av1, fast, h264"),
        (
            ["transcode", "a.mp4", "--profile", "bad.json"],
            "error: rungs[0].crf: 90 is greater than the maximum of 63 hint: expected integer, at least 1, at most 63",
        ),
        (["transcode", "a.mp4", "--profile", "worse.json"], "worse.json can't be parsed: Expecting property name"),
        (["transcode", "a.mp4", "--quality", "999p"], "the profile has no rung '999p' hint: rungs: 2160p, 1440p"),
        (["transcode", "a.mp4", "--spec", '{"qualities": "720p"}'], 'is not a list hint: for example ["720p", "360p"]'),
        (
            ["transcode", "a.mp4", "--spec", '{"profil": "av1"}'],
            "spec.profil: unknown field hint: did you mean",
        ),
        (["clips", "a.mp4"], "only for transcode; use --spec for other pipelines"),
    ],
)
def test_an_invalid_video_is_refused_before_a_job_is_created(reel: Reel, arguments: list[str], message: str) -> None:
    reel.engine(declared)
    rung = {"name": "a", "height": 100, "crf": 90, "max_bitrate": 100_000}
    (reel.folder / "a.mp4").write_bytes(b"x")
    (reel.folder / "bad.json").write_text(json.dumps({"name": "bad", "rungs": [rung]}))
    (reel.folder / "worse.json").write_text("{oops")
    result = reel("submit", *arguments, COLUMNS="200")
    assert (result.code != 0, reel("jobs", "--json").json) == (True, [])
    assert message in result.text


def test_ctrl_c_while_waiting_keeps_the_job_and_prints_a_hint(reel: Reel) -> None:
    reel.engine(sample_jobs.waiting)
    command = [str(REEL), "submit", "simple", "--wait"]
    with subprocess.Popen(
        command, cwd=reel.folder, env={**os.environ, **reel.server}, stdout=PIPE, stderr=PIPE, text=True
    ) as process:
        assert process.stdout is not None
        submitted, shown = process.stdout.readline(), process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=300)
    job_id = submitted.split()[2]
    assert (process.returncode, errors) == (130, f"job {job_id} keeps running; `reel watch {job_id}` shows it\n")
    assert "pending" in shown
    assert reel("job", job_id, "--json").json["status"] == "pending"
