"""Engines for tests, on either store, with a clock that the test sets."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from reelstate.app import open_engine
from reelstate.core.machine import JobStatus
from reelstate.core.model import ClaimedTask, Completion, Failure, Json
from reelstate.core.pipeline import Graph, StageSpec
from reelstate.engine import Engine

DIALECTS = ("sqlite", "postgres")


class FakeClock:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


SIMPLE = Graph.of("simple", [StageSpec(name="main", isolate_after=1)])
"""One stage, one task."""

FAN = Graph.of(
    "fan",
    [
        StageSpec(name="plan", phase=JobStatus.PLANNING),
        StageSpec(name="work", after=("plan",), each="plan.items"),
        StageSpec(name="pack", after=("work",), phase=JobStatus.UPLOADING_OUTPUTS),
    ],
)
"""A plan, a fan-out over it, a fan-in."""

PARTS = Graph.of("parts", [StageSpec(name="part", each="spec.parts", isolate_after=1)])
"""A fan-out over the spec."""


@asynccontextmanager
async def engine_at(url: str, clock: FakeClock | None = None, graphs: Sequence[Graph] = ()) -> AsyncIterator[Engine]:
    """An engine with the pipelines that most tests use, and these."""
    pipelines = [SIMPLE, FAN, PARTS, *graphs]
    async with open_engine(url, pipelines=pipelines, clock=clock, migrate=True) as engine:
        yield engine


async def a_worker(engine: Engine, name: str = "worker", **options: Any) -> int:
    """A registered worker with room for many tasks."""
    given = {"hostname": "host", "software": "test", "slots": 1000, **options}
    return await engine.register(name, **given)


def done(task: ClaimedTask, result: Json = None) -> Completion:
    return Completion(key=task.key, token=task.token, result=result)


def failed(task: ClaimedTask, **options: Any) -> Failure:
    return Failure(key=task.key, token=task.token, error=options.pop("error", "it broke"), **options)
