"""Log lines: JSON with the ids of the run that logs, also from threads and child processes, and without secrets."""

import json
import logging
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from reelstate.app import open_engine
from reelstate.core.model import LogLine
from reelstate.telemetry.logs import JobLogHandler, JsonFormatter, TextFormatter, job_log, log_fields
from tests.remote.remote_fleet import free_port

APP = """
import logging
import sys

import reelstate as rs

logger = logging.getLogger("app.work")
every = rs.Pipeline("logging")


@every.stage(attempts=2, backoff=0.0)
async def first(task):
    logger.info("from a coroutine")
    if task.attempt == 1:
        raise rs.Retry("not yet", after=0)


@every.stage(after="first")
def second(task):
    logger.info("from a thread")


@every.stage(after="second", process=True)
def third(task):
    logger.warning("from a process with password=%s", "hunter2")
"""
KEY = f"reel_{'0' * 12}_{'a' * 72}"


def record(
    message: str, name: str = "reelstate.worker", level: int = logging.INFO, **options: Any
) -> logging.LogRecord:
    return logging.LogRecord(name, level, __file__, 1, message, None, options.get("exc_info"))


def formatted(message: str, **options: Any) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(JsonFormatter().format(record(message, **options)))
    return document


def test_a_json_line_has_time_level_event_and_ids() -> None:
    with log_fields(job=7, attempt=2):
        line = formatted("lease lost job=7 stage=encode part=3 token=9 error=it broke")
    assert line.pop("time").endswith("Z")
    assert line == {
        "level": "info", "logger": "reelstate.worker", "event": "lease lost", "job": 7, "stage": "encode", "part": 3,
        "token": 9, "attempt": 2, "message": "lease lost job=7 stage=encode part=3 token=9 error=it broke",
    }  # fmt: skip


def test_a_line_of_a_handler_can_not_forge_ids() -> None:
    with log_fields(job=7):
        line = formatted("job=8\nstage=other", name="app")
    assert (line["job"], line["event"], "stage" in line) == (7, "job=8\nstage=other", False)


def test_a_text_line_has_the_ids_of_its_context_once() -> None:
    with log_fields(job=7, attempt=2):
        text = TextFormatter("%(message)s").format(record("task started job=7"))
    assert text == "task started job=7 attempt=2"
    assert TextFormatter("%(message)s").format(record("idle")) == "idle"


@pytest.mark.parametrize("secret", ["postgresql://ada:hunter2@db/x", "https://x/y?token=hunter2", KEY])
def test_secrets_are_masked_in_both_formats_and_in_the_log_of_the_job(secret: str) -> None:
    lines: list[LogLine] = []
    error = ValueError(secret)
    given = record(f"failed error={secret}", name="app", exc_info=(ValueError, error, None))
    with job_log(lines.append):
        JobLogHandler().emit(given)
    texts = [TextFormatter("%(message)s").format(given), JsonFormatter().format(given), lines[0].message]
    for text in texts:
        assert "hunter2" not in text
        assert "aaaa" not in text


def test_lines_of_this_package_do_not_reach_the_log_of_a_job() -> None:
    lines: list[LogLine] = []
    with job_log(lines.append):
        JobLogHandler().emit(record("task started"))
        JobLogHandler().emit(record("hello", name="app", level=logging.ERROR))
    assert lines == [LogLine(message="hello", level="error", metadata={"logger": "app"})]


async def test_every_line_of_a_jobs_life_has_its_ids_also_from_a_child_process(tmp_path: Path) -> None:
    (tmp_path / "pipelines.py").write_text(APP)
    url = f"sqlite:///{tmp_path / 'jobs.db'}"
    environment = {
        **os.environ, "REEL_LOG_FORMAT": "json", "REEL_LOG_LEVEL": "debug", "REEL_JOB_LOGS": "info",
        "REEL_WORKER_NAME": "w", "REEL_METRICS_PORT": str(free_port()), "PYTHONPATH": str(tmp_path),
        "REEL_WORKER_CAPABILITIES": "-ffmpeg",
    }  # fmt: skip
    errors = tmp_path / "stderr"
    sys.path.insert(0, str(tmp_path))
    try:
        import pipelines  # noqa: PLC0415 - it was just written
    finally:
        sys.path.remove(str(tmp_path))
        sys.modules.pop("pipelines", None)
    async with open_engine(url, pipelines=[pipelines.every], migrate=True) as engine:
        job = (await engine.submit("logging")).job_id
        command = [sys.executable, "-m", "reelstate", "worker", "--app", "pipelines:every", "--database", url]
        with (
            errors.open("wb") as stderr,
            subprocess.Popen(  # noqa: ASYNC220 - it starts at once
                command, env=environment, stderr=stderr
            ) as process,
        ):
            try:
                detail = await engine.wait(job, timeout=240)
            finally:
                process.send_signal(signal.SIGTERM)
                process.wait(60)
        logs = (await engine.logs(job)).items
    assert detail.job.status == "completed"
    lines = [json.loads(line) for line in errors.read_text().splitlines()]
    assert all({"time", "level", "event"} <= line.keys() for line in lines)
    about = [line for line in lines if line.get("job") == job]
    ids = ("stage", "part", "token", "attempt", "worker")
    seen = [
        (line["event"], *(line[name] for name in ids)) for line in about if line["event"].startswith(("task", "from"))
    ]
    assert seen == [
        ("task started", "first", 0, 1, 1, "w"),
        ("from a coroutine", "first", 0, 1, 1, "w"),
        ("task failed", "first", 0, 1, 1, "w"),
        ("task started", "first", 0, 2, 2, "w"),
        ("from a coroutine", "first", 0, 2, 2, "w"),
        ("task completed", "first", 0, 2, 2, "w"),
        ("task started", "second", 0, 1, 1, "w"),
        ("from a thread", "second", 0, 1, 1, "w"),
        ("task completed", "second", 0, 1, 1, "w"),
        ("task started", "third", 0, 1, 1, "w"),
        ("from a process with password=***", "third", 0, 1, 1, "w"),
        ("task completed", "third", 0, 1, 1, "w"),
    ]
    assert {line["level"] for line in lines if line["event"] in {"heartbeat sent", "tasks claimed"}} == {"debug"}
    assert [(line.message, line.level) for line in logs if line.message.startswith("from")] == [
        ("from a coroutine", "info"),
        ("from a coroutine", "info"),
        ("from a thread", "info"),
        ("from a process with password=***", "warning"),
    ]
