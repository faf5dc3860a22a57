"""Whatever a handler reports or raises, its task ends with an outcome and its slot is freed."""

from pathlib import Path
from typing import Any

import pytest

import reelstate as rs
from reelstate.core.machine import JobStatus
from reelstate.core.outcome import mask_passwords
from tests.worker.local_workers import count_leased, engine_for, run_worker, wait_inactive


class BrokenStr(Exception):
    def __str__(self) -> str:
        raise RuntimeError("broken")


def _raise_broken_str(task: rs.BlockingRun) -> None:
    raise BrokenStr


def _retry_with_text(task: rs.BlockingRun) -> None:
    raise rs.Retry("busy", after="soon")  # type: ignore[arg-type]  # that is the mistake


def _log_a_path(task: rs.BlockingRun) -> None:
    task.log("cut", file=Path("video.mp4"))


def _log_too_much(task: rs.BlockingRun) -> None:
    task.log("cut", file="clip" * 10_000)


def _step_without_a_list(task: rs.BlockingRun) -> None:
    task.step("ffmpeg -i video.mp4", exit_code=0)


def _step_without_end(task: rs.BlockingRun) -> None:
    task.step(["ffmpeg"], seconds=float("inf"))


def _step_with_a_strange_code(task: rs.BlockingRun) -> None:
    task.step(["ffmpeg"], exit_code=2**40)


@pytest.mark.parametrize(
    "mistake, message",
    [
        (_raise_broken_str, "no message: RuntimeError in its __str__"),
        (_retry_with_text, "after: invalid value 'soon'"),
        (_log_a_path, "metadata: is not JSON"),
        (_log_too_much, "metadata: is 40,011 bytes"),
        (_step_without_a_list, "step.argv: invalid value 'ffmpeg -i video.mp4'"),
        (_step_without_end, "step.seconds: invalid value inf"),
        (_step_with_a_strange_code, "step.exit_code: invalid value 1099511627776"),
    ],
)
async def test_a_mistake_of_a_handler_fails_its_task_with_the_reason(
    database_url: str, mistake: Any, message: str
) -> None:
    video = rs.Pipeline("video")
    video.stage(name="cut", attempts=1)(mistake)
    async with (
        engine_for(database_url, video) as engine,
        run_worker(engine, database_url, [video], worker_concurrency=1) as worker,
    ):
        job = (await wait_inactive(engine, (await engine.submit("video")).id)).job
        assert job.status is JobStatus.FAILED
        assert job.error["cause"]["message"].startswith(message)
        assert (worker.running, await count_leased(engine)) == (0, 0)


async def test_progress_that_is_not_text_is_stored_as_text(database_url: str) -> None:
    video = rs.Pipeline("video")

    @video.stage
    async def cut(task: rs.Run) -> None:
        await task.progress(50, 12, step=Path("part"))  # type: ignore[arg-type]  # that is the point

    async with engine_for(database_url, video) as engine, run_worker(engine, database_url, [video]):
        job = await engine.submit("video")
        assert (await wait_inactive(engine, job.id)).job.status is JobStatus.COMPLETED
        (task,) = (await engine.tasks(job.id)).items
        assert (task.message, task.step) == ("12", "part")


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://reel:secret@db/jobs",
        "postgresql://db/jobs?user=reel&password=secret&sslmode=require",
        "host=db sslpassword=secret user=reel",
        "https://bucket/video.mp4?X-Amz-Security-Token=secret&X-Amz-Date=2026&X-Amz-Signature=secret",
        "https://cdn/video.mp4?Expires=1&Signature=secret&Key-Pair-Id=K",
    ],
)
def test_passwords_in_addresses_are_masked(address: str) -> None:
    assert mask_passwords(f"can't reach {address}") == f"can't reach {address}".replace("secret", "***")
