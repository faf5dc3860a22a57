"""Whatever a handler says or raises, its task comes to an end and its slot is free again."""

from pathlib import Path
from typing import Any

import pytest

import reelstate as rs
from reelstate.core.machine import JobStatus
from reelstate.core.outcome import without_passwords
from tests.worker.local_workers import count_leased, engine_for, run_worker, wait_inactive


class Speechless(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


def _speechless(task: rs.BlockingRun) -> None:
    raise Speechless


def _retry_soon(task: rs.BlockingRun) -> None:
    raise rs.Retry("busy", after="soon")  # type: ignore[arg-type]  # that is the mistake


def _log_a_path(task: rs.BlockingRun) -> None:
    task.log("cut", file=Path("film.mp4"))


def _log_too_much(task: rs.BlockingRun) -> None:
    task.log("cut", file="film" * 10_000)


def _step_without_a_list(task: rs.BlockingRun) -> None:
    task.step("ffmpeg -i film.mp4", exit_code=0)


def _step_without_end(task: rs.BlockingRun) -> None:
    task.step(["ffmpeg"], seconds=float("inf"))


def _step_with_a_strange_code(task: rs.BlockingRun) -> None:
    task.step(["ffmpeg"], exit_code=2**40)


@pytest.mark.parametrize(
    "mistake, words",
    [
        (_speechless, "it can't be told: RuntimeError in its __str__"),
        (_retry_soon, "after: 'soon' is not a delay"),
        (_log_a_path, "metadata: is not JSON"),
        (_log_too_much, "metadata: is 40,011 bytes"),
        (_step_without_a_list, "step.argv: 'ffmpeg -i film.mp4' is not a list"),
        (_step_without_end, "step.seconds: inf is not a duration"),
        (_step_with_a_strange_code, "step.exit_code: 1099511627776 is not one"),
    ],
)
async def test_a_mistake_of_a_handler_fails_its_task_and_tells_why(database_url: str, mistake: Any, words: str) -> None:
    film = rs.Pipeline("film")
    film.stage(name="cut", attempts=1)(mistake)
    async with (
        engine_for(database_url, film) as engine,
        run_worker(engine, database_url, [film], worker_concurrency=1) as worker,
    ):
        job = (await wait_inactive(engine, (await engine.submit("film")).id)).job
        assert job.status is JobStatus.FAILED
        assert job.error["cause"]["message"].startswith(words)
        assert (worker.running, await count_leased(engine)) == (0, 0)


async def test_words_that_are_no_text_are_told_as_text(database_url: str) -> None:
    film = rs.Pipeline("film")

    @film.stage
    async def cut(task: rs.Run) -> None:
        await task.progress(50, 12, step=Path("part"))  # type: ignore[arg-type]  # that is the point

    async with engine_for(database_url, film) as engine, run_worker(engine, database_url, [film]):
        job = await engine.submit("film")
        assert (await wait_inactive(engine, job.id)).job.status is JobStatus.COMPLETED
        (task,) = (await engine.tasks(job.id)).items
        assert (task.message, task.step) == ("12", "part")


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://reel:secret@db/jobs",
        "postgresql://db/jobs?user=reel&password=secret&sslmode=require",
        "host=db sslpassword=secret user=reel",
        "https://bucket/film.mp4?X-Amz-Security-Token=secret&X-Amz-Date=2026&X-Amz-Signature=secret",
        "https://cdn/film.mp4?Expires=1&Signature=secret&Key-Pair-Id=K",
    ],
)
def test_passwords_of_addresses_are_blotted_out(address: str) -> None:
    assert without_passwords(f"can't reach {address}") == f"can't reach {address}".replace("secret", "***")
