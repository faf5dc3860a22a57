"""Commands that show jobs and workers: jobs, job, history, logs, steps, workers."""

from datetime import datetime, timedelta

import pytest

from reelstate.cli.options import StatusName
from reelstate.core.machine import JobStatus, WorkerStatus
from reelstate.engine import Engine
from reelstate.library.videos import Videos
from tests.cli import sample_jobs
from tests.cli.conftest import Reel
from tests.cli.test_videos import declared
from tests.engines import a_worker, failed


def test_jobs_are_listed_newest_first(reel: Reel) -> None:
    ids = [reel.engine(sample) for sample in (sample_jobs.completed, sample_jobs.failed_part, sample_jobs.waiting)]
    listed = reel("jobs", "--json").json
    assert [job["id"] for job in listed] == ids[::-1]
    assert [job["status"] for job in listed] == ["pending", "failed", "completed"]
    text = reel("jobs").stdout
    assert all(str(job_id) in text for job_id in ids)
    assert "no such [codec]" in text


def test_jobs_are_listed_with_a_summary(reel: Reel) -> None:
    async def submit(engine: Engine) -> None:
        await engine.submit("simple", {"video": "a.mp4", "minutes": 4, "at": "s3://me:abc@host", "password": "abc"})
        await engine.submit("simple", {"text": "x" * 500})
        await Videos(engine).submit("https://videos.example/b.mp4?password=abc")

    reel.engine(declared)
    reel.engine(submit)
    reel.engine(sample_jobs.failed_part)
    text = reel("jobs").text
    assert "video=a.mp4 minutes=4" in text
    assert "xxx…" in text
    assert " b.mp4" in text
    assert "parts=4 · part/1: no such [codec]" in text
    assert "abc" not in text


def test_a_failed_job_shows_the_traceback(reel: Reel) -> None:
    trace = 'Traceback (most recent call last):\n  File "clips.py", line 7, in plan\nKeyError: [bold]'

    async def fail(engine: Engine) -> int:
        job_id = await sample_jobs.waiting(engine)
        tasks = (await engine.claim(await a_worker(engine), 1)).tasks
        error = {"type": "KeyError", "message": "[bold]", "trace": trace}
        await engine.fail([failed(task, retryable=False, error=error) for task in tasks])
        return job_id

    job_id = reel.engine(fail)
    assert trace in reel("job", job_id).stdout
    assert trace in reel("watch", job_id).stdout


def test_jobs_are_filtered_and_paged(reel: Reel) -> None:
    done, broken, waiting = (
        reel.engine(sample) for sample in (sample_jobs.completed, sample_jobs.failed_part, sample_jobs.waiting)
    )

    def ids(*options: str) -> list[int]:
        return [job["id"] for job in reel("jobs", "--json", *options).json]

    assert ids("--status", "failed", "--status", "pending") == [waiting, broken]
    assert ids("--pipeline", "fan") == [done]
    assert ids("--user", "ada") == [broken]
    assert ids("--limit", "1") == [waiting]
    assert ids("--after", str(waiting), "--limit", "1") == [broken]
    assert f"--after {broken}" in reel("jobs", "--limit", 2).stdout
    assert ids("--status", "cancelled") == []
    assert reel("jobs", "--status", "cancelled").code == 0


def test_a_flagged_job_is_shown_with_the_reason_and_since_when(reel: Reel) -> None:
    flagged, other = reel.engine(sample_jobs.flagged), reel.engine(sample_jobs.running)
    reason = f"task {flagged}/0/0 of stage part has reported no progress for 0 s"
    assert [job["id"] for job in reel("jobs", "--flagged", "--json").json] == [flagged]
    listed = {job["id"]: job for job in reel("jobs", "--json").json}
    assert (listed[flagged]["flagged"], listed[other]["flagged"]) == (reason, None)
    assert datetime.fromisoformat(listed[flagged]["flagged_at"]).tzinfo is not None
    assert f"flagged: {reason}" in reel("jobs", COLUMNS="200").text
    shown = reel("job", flagged, COLUMNS="200").text
    assert "flagged since " in shown
    assert reason in shown
    assert f"reel cancel {flagged}" in shown
    assert "flagged" not in reel("job", other).text
    assert f"flagged: {reason}" in reel("history", flagged, COLUMNS="200").text


def test_a_task_that_runs_alone_is_shown_with_the_reason(reel: Reel) -> None:
    other, job_id = reel.engine(sample_jobs.running), reel.engine(sample_jobs.isolated)
    shown = reel("job", job_id, COLUMNS="160").text
    assert "part: 1 task has lost its workers and runs alone on a worker" in shown
    assert "part/0 other Claimed 2/3 alone" in shown
    history = reel("history", job_id, COLUMNS="200").text
    assert "worker died; it has lost 1 worker and runs alone on one from now on (encoder)" in history
    events = reel("history", job_id, "--json").json
    assert [event["data"] for event in events if event["reason"] == "worker died"] == [{"isolated": True, "lost": 1}]
    assert [task["isolated"] for task in reel("job", job_id, "--json").json["running"]] == [True]
    assert "alone" not in reel("job", other).text


def test_doctor_names_flagged_jobs_and_finds_nothing_wrong(reel: Reel) -> None:
    def check() -> dict[str, str]:
        found: dict[str, dict[str, str]] = {each["name"]: each for each in reel("doctor", "--json").json["environment"]}
        return found["flagged jobs"]

    reel.engine(sample_jobs.completed)
    assert check()["status"] == "ok"
    job_id = reel.engine(sample_jobs.flagged)
    assert (check()["status"], check()["detail"]) == ("warning", str(job_id))
    assert reel("doctor", "--json").json["findings"] == []


def test_the_status_running_selects_every_phase(reel: Reel) -> None:
    running, _ = reel.engine(sample_jobs.running), reel.engine(sample_jobs.waiting)
    assert [job["id"] for job in reel("jobs", "--status", "running", "--json").json] == [running]
    assert reel("cancel", "--status", "running", "--json").json == {"matched": 1}
    assert set(StatusName) == {*JobStatus, "running"}


def test_a_job_is_printed_as_json(reel: Reel) -> None:
    document = reel("job", reel.engine(sample_jobs.completed), "--json").json
    assert (document["pipeline"], document["status"], document["priority"], document["progress"]) == (
        "fan",
        "completed",
        5,
        100,
    )
    assert (document["error"], document["outputs"]) == (None, {"pack": {"file": "[bold]out.mp4"}})
    kept = ("name", "status", "total", "done", "running", "failed")
    assert [tuple(stage[name] for name in kept) for stage in document["stages"]] == [
        ("plan", "done", 1, 1, 0, 0),
        ("work", "done", 3, 3, 0, 0),
        ("pack", "done", 1, 1, 0, 0),
    ]
    for name in ("created_at", "started_at", "finished_at"):
        assert datetime.fromisoformat(document[name]).tzinfo is not None


@pytest.mark.parametrize("columns", ["40", "80", "200"])
def test_a_failed_job_shows_its_error_and_a_hint(reel: Reel, columns: str) -> None:
    job_id = reel.engine(sample_jobs.failed_part)
    text = reel("job", job_id, COLUMNS=columns).text
    assert "error: part/1: no such [codec]" in text
    assert f"reel retry {job_id}" in text
    assert reel("job", job_id, "--json", COLUMNS=columns).json["error"]["cause"]["message"] == "no such [codec]"


def test_json_does_not_depend_on_the_terminal(reel: Reel) -> None:
    job_id = reel.engine(sample_jobs.running)
    for arguments in (
        ["jobs"],
        ["job", job_id],
        ["history", job_id],
        ["logs", job_id],
        ["steps", job_id],
        ["workers"],
        ["config"],
    ):
        result = reel(*arguments, "--json", COLUMNS="20", NO_COLOR="", FORCE_COLOR="1", TERM="xterm-256color")
        assert result.json
        assert "\x1b" not in result.stdout


def test_a_running_job_shows_its_tasks_and_their_workers(reel: Reel) -> None:
    job_id = reel.engine(sample_jobs.running)
    text = reel("job", job_id).text
    assert "part/0 encoder Claimed 1/3 50 % frame 0" in text
    assert "part/1 encoder Claimed 1/3 50 % frame 1" in text
    task = reel("job", job_id, "--json").json["running"][1]
    assert (task["id"], task["worker"], task["message"]) == (f"{job_id}/part/1", "encoder", "frame 1")


def test_a_degraded_job_shows_its_reason(reel: Reel) -> None:
    job_id = reel.engine(sample_jobs.degraded)
    reason = "extra: 1 failed, part 0: no such [codec]"
    assert reel("job", job_id, "--json").json["degraded"] == [reason]
    assert f"degraded: {reason}" in reel("job", job_id).text
    assert f"degraded: {reason}" in reel("jobs", COLUMNS="160").text


def test_workers_show_their_tasks_and_counts(reel: Reel) -> None:
    reel.engine(sample_jobs.failed_part)
    job_id = reel.engine(sample_jobs.running)
    tasks = [f"{job_id}/part/0", f"{job_id}/part/1"]
    shown = {len(worker["tasks"]): worker for worker in reel("workers", "--json").json}
    assert [(shown[n]["tasks"], shown[n]["done"], shown[n]["failed"]) for n in (2, 0)] == [(tasks, 0, 0), ([], 1, 1)]
    lines = [line.split() for line in reel("workers", COLUMNS="200").stdout.splitlines() if "encoder" in line]
    assert sorted(line[3:6] for line in lines) == [["0/1000", "1", "1"], ["2/4", "0", "0"]]
    assert any(set(tasks) <= set(line) for line in lines)


def test_a_job_without_a_worker_says_so(reel: Reel) -> None:
    assert "no worker for simple is running" in reel("job", reel.engine(sample_jobs.waiting)).text
    reel.engine(lambda engine: a_worker(engine, pipelines={"simple"}))
    assert "no worker" not in reel("job", reel.engine(sample_jobs.waiting)).text


def test_history_lists_every_event_with_names(reel: Reel) -> None:
    job_id = reel.engine(sample_jobs.completed)
    events = reel("history", job_id, "--json").json
    job = [event for event in events if event["entity"] == "job"]
    assert {event["id"] for event in job} == {job_id}
    assert [event["version"] for event in job] == list(range(1, len(job) + 1))
    assert [event["from"] for event in job] == [None, *(event["to"] for event in job[:-1])]
    assert (job[0]["to"], job[0]["actor"], job[-1]["to"]) == ("pending", "user", "completed")
    tasks = {event["id"] for event in events if event["entity"] == "task"}
    assert tasks == {f"{job_id}/{task}" for task in ("plan/0", "work/0", "work/1", "work/2", "pack/0")}
    assert f"{job_id}/work" in {event["id"] for event in events if event["entity"] == "stage"}
    assert all(datetime.fromisoformat(event["at"]).tzinfo for event in events)
    assert "task work/2 running → done worker worker" in reel("history", job_id).text


def test_history_reads_every_page(reel: Reel) -> None:
    job_id = reel.engine(sample_jobs.completed)
    whole = reel("history", job_id, "--json").json
    assert len(whole) > 6
    assert reel("history", job_id, "--json", "--page", 2).json == whole


def test_logs_are_filtered_by_stage_and_part(reel: Reel) -> None:
    job_id = reel.engine(sample_jobs.running)

    def messages(*options: object) -> list[str]:
        return [entry["message"] for entry in reel("logs", job_id, "--json", *options).json]

    assert messages() == ["line 0 [red]", "oh", "line 1 [red]", "oh"]
    assert messages("--stage", "part", "--part", 1) == ["line 1 [red]", "oh"]
    assert messages("--part", 0) == ["line 0 [red]", "oh"]
    assert messages("--stage", "part") == messages()
    assert 'part/1 info line 1 [red] {"fps": 24}' in reel("logs", job_id).stdout


def test_steps_are_filtered_by_stage_part_and_failure(reel: Reel) -> None:
    job_id = reel.engine(sample_jobs.running)

    def codes(*options: object) -> list[tuple[int, int]]:
        return [(step["part"], step["exit_code"]) for step in reel("steps", job_id, "--json", *options).json]

    assert codes() == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert codes("--stage", "part", "--part", 1) == [(1, 0), (1, 1)]
    assert codes("--failed") == [(0, 1), (1, 1)]
    page = reel("steps", job_id, "--part", 0).text
    assert "part/0 ffmpeg exit 0 1.5 s ffmpeg -i 'a video [red].mp4'" in page
    assert "part/0 ffmpeg exit 1 0.1 s ffmpeg -x first [bold]no such option" in page
    (first, *_) = reel("steps", job_id, "--part", 0, "--json").json
    started = datetime.fromisoformat(first["started_at"])
    assert (first["type"], datetime.fromisoformat(first["at"]) - started) == ("ffmpeg", timedelta(seconds=1.5))
    assert f"{started.astimezone():%H:%M:%S} part/0 ffmpeg exit 0" in page


def test_following_logs_of_an_inactive_job_ends(reel: Reel) -> None:
    job_id = reel.engine(sample_jobs.running)
    reel.engine(lambda engine: engine.cancel(job_id))
    assert len(reel("logs", job_id, "--follow", "--json").stdout.splitlines()) == 4


async def a_fleet(engine: Engine) -> None:
    for name in ("idle", "drained", "disabled"):
        await a_worker(engine, name, slots=4, capabilities={"gpu"}, pipelines={"fan"})
    offline = await a_worker(engine, "offline")
    await engine.drain("drained")
    await engine.disable("disabled")
    await engine.move_worker(offline, WorkerStatus.OFFLINE, actor="worker")
    await sample_jobs.running(engine)


def test_workers_have_one_status(reel: Reel) -> None:
    reel.engine(a_fleet)
    listed = {worker["name"]: worker for worker in reel("workers", "--json").json}
    assert {name: worker["status"] for name, worker in listed.items()} == {
        "idle": "idle",
        "drained": "draining",
        "disabled": "disabled",
        "offline": "offline",
        "encoder": "busy",
    }
    busy = listed["encoder"]
    assert (busy["slots"], busy["running"], busy["capabilities"], busy["pipelines"]) == (4, 2, ["gpu"], ["parts"])
    assert datetime.fromisoformat(busy["last_heartbeat_at"]).tzinfo is not None
    assert reel("workers", "list", "--json").json == reel("workers", "--json").json
    assert "offline offline host" not in reel("workers").text
    assert "offline offline host" in reel("workers", "list", "--all").text
    assert "encoder busy host 2/4" in reel("workers").text


def test_encoders_of_a_worker_are_counted(reel: Reel) -> None:
    capabilities = {"ffmpeg", "gpu", *(f"encoder:number{number}" for number in range(40))}
    reel.engine(lambda engine: a_worker(engine, "encoder", capabilities=capabilities))
    assert "ffmpeg gpu 40 encoders" in reel("workers", COLUMNS="160").text
    assert len(reel("workers", "--json").json[0]["capabilities"]) == 42


@pytest.mark.parametrize("columns", [72, 80])
def test_in_a_narrow_terminal_only_details_are_cut(reel: Reel, columns: int) -> None:
    job_id = reel.engine(sample_jobs.failed_part)
    (line,) = [line for line in reel("jobs", COLUMNS=str(columns)).stdout.splitlines() if str(job_id) in line]
    assert line.split()[:5] == [str(job_id), "parts", "failed", "8", "ada"]
    assert len(line) <= columns
